import type { Command } from "commander";
import type { Trpc } from "../../../sdk/src/core/trpc.ts";
import { columns, orNone, wholeNumber } from "./output.ts";
import type { CommandParts } from "./run.ts";

type ListedToken = Awaited<ReturnType<Trpc["tokens"]["list"]["query"]>>["tokens"][number];

/** `token`: what the other commands need. A token cannot manage tokens, so these commands sign in. */
export function addTokenCommand(program: Command, { asConfiguredOperator, print }: CommandParts): void {
  const token = program
    .command("token")
    .description("create, list and revoke the management tokens of this operator");

  // `token <name>` is short for it.
  token
    .command("create", { isDefault: true })
    .description("create a management token for this operator; the token is not shown again")
    .argument("<name>", "name of the token")
    .option(
      "--expires-in-days <days>",
      "days until the token expires",
      wholeNumber("--expires-in-days", 1, 3_650),
      90,
    )
    .action(async (name: string, { expiresInDays }: { expiresInDays: number }) => {
      const created = await asConfiguredOperator((trpc) =>
        trpc.tokens.create.mutate({ name, expiresInDays }),
      );
      print(created, [created.token]);
    });

  token
    .command("list")
    .description("list the management tokens of this operator, revoked ones last")
    .action(async () => {
      const listed = await asConfiguredOperator((trpc) => trpc.tokens.list.query());
      print(listed, orNone(columns(listed.tokens.map(rowOf)), "No management tokens."));
    });

  token
    .command("revoke")
    .description("revoke a management token of this operator; it is refused from now on")
    .argument("<id>", 'the id, as "token list" shows it')
    .action(async (id: string) => {
      const revoked = await asConfiguredOperator((trpc) => trpc.tokens.revoke.mutate({ id }));
      print(revoked, columns([rowOf(revoked)]));
    });
}

function rowOf({ id, name, expiresAt, revokedAt, lastUsedAt, lastUsedIp }: ListedToken): readonly string[] {
  return [id, name, stateOf({ expiresAt, revokedAt }), useOf({ lastUsedAt, lastUsedIp })];
}

function stateOf({ expiresAt, revokedAt }: Pick<ListedToken, "expiresAt" | "revokedAt">): string {
  if (revokedAt !== null) return `revoked ${revokedAt.toISOString()}`;
  if (expiresAt === null) return "does not expire";
  return `${expiresAt.getTime() > Date.now() ? "expires" : "expired"} ${expiresAt.toISOString()}`;
}

function useOf({ lastUsedAt, lastUsedIp }: Pick<ListedToken, "lastUsedAt" | "lastUsedIp">): string {
  return lastUsedAt === null
    ? "never used"
    : `last used ${lastUsedAt.toISOString()} from ${lastUsedIp ?? "an unknown address"}`;
}
