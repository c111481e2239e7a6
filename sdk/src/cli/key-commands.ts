import process from "node:process";
import type { Command } from "commander";
import { type CommandParts, MAX_COUNT } from "./command-parts.ts";
import { table, wholeNumber } from "./output.ts";

const KEY_ID = 'id of the key, as "keys list" shows it';

/** Adds `keys list`, `keys create`, `keys rotate` and `keys revoke`. */
export function addKeyCommands(program: Command, { client, print, signal }: CommandParts): void {
  const keys = program
    .command("keys")
    .description("manage API keys; all commands except list need OSTIARY_MANAGEMENT_TOKEN");
  keys
    .command("list")
    .description("list keys and their use")
    .action(async () => {
      const found = await client().keys.list({ signal });
      print(
        found,
        table(
          ["id", "name", "key ID", "state", "last used", "requests in 24 h"],
          found.map((key) => [
            key.id,
            key.name,
            key.keyId,
            key.state,
            key.usage.lastUsedAt?.toISOString() ?? "never",
            String(key.usage.requestsLastDay),
          ]),
        ),
      );
    });
  keys
    .command("create")
    .description("create a key and print it; it is not shown again")
    .argument("<name>", "name of the key")
    .action(async (name: string) => {
      const created = await client().keys.create({ name }, { signal });
      print(created, [created.key]);
      note(`Created key ${created.keyId} (${created.name}). Store it now: it is not shown again.`);
    });
  keys
    .command("rotate")
    .description(
      "create a successor of a key and print it; it is not shown again, and the old key works until it is revoked",
    )
    .argument("<id>", KEY_ID)
    .option("--name <name>", "name of the successor")
    .option(
      "--idle-after <seconds>",
      "seconds without a request after which the old key counts as idle",
      wholeNumber("--idle-after", 0, MAX_COUNT),
    )
    .action(async (id: string, options: { name?: string; idleAfter?: number }) => {
      const params = { name: options.name, idleAfterSeconds: options.idleAfter };
      const created = await client().keys.rotate(id, params, { signal });
      print(created, [created.key]);
      note(`Created key ${created.keyId} (${created.name}). Move your deployments to it, then revoke ${id}.`);
    });
  keys
    .command("revoke")
    .description("revoke a key permanently")
    .argument("<id>", KEY_ID)
    .action(async (id: string) => {
      const revoked = await client().keys.revoke(id, { signal });
      print(revoked, [`Revoked key ${revoked.keyId} (${revoked.name}).`]);
    });
}

/** Writes a note for people to standard error, apart from the output that scripts read. */
function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
