import type { Command } from "commander";
import { CliError } from "./cli-error.ts";
import type { CommandParts } from "./run.ts";

/** `token`: what the other commands need. */
export function addTokenCommand(program: Command, { connection, output }: CommandParts): void {
  program
    .command("token")
    .description("make a management token for this operator; it is shown this once")
    .argument("<name>", "what it is for")
    .option("--expires-in-days <days>", "when it stops to hold", "90")
    .action(async (name: string, options: { expiresInDays: string }) => {
      if (!/^\d{1,4}$/.test(options.expiresInDays)) {
        throw new CliError("--expires-in-days must be a whole number of days.");
      }
      const expiresInDays = Number(options.expiresInDays);
      const created = await connection().asPerson((client) =>
        client.tokens.create.mutate({ name, expiresInDays }),
      );
      output().print(created, [created.token]);
    });
}
