import type { Command } from "commander";
import { wholeNumber } from "./output.ts";
import type { CommandParts } from "./run.ts";

/** `token`: what the other commands need. */
export function addTokenCommand(program: Command, { asConfiguredOperator, print }: CommandParts): void {
  program
    .command("token")
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
}
