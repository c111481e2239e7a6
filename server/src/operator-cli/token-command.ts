import type { Command } from "commander";
import { CliError } from "./cli-error.ts";
import type { CommandParts } from "./run.ts";

/** `token`: creates the management token that the other commands use. */
export function addTokenCommand(program: Command, { connection, output }: CommandParts): void {
  program
    .command("token")
    .description("create a management token for this operator; the token is not shown again")
    .argument("<name>", "name of the token")
    .option("--expires-in-days <days>", "days until the token expires", "90")
    .action(async (name: string, options: { expiresInDays: string }) => {
      if (!/^\d{1,4}$/.test(options.expiresInDays)) {
        throw new CliError("--expires-in-days must be a whole number of days, such as 90.");
      }
      const expiresInDays = Number(options.expiresInDays);
      const created = await connection().asPerson((client) =>
        client.tokens.create.mutate({ name, expiresInDays }),
      );
      output().print(created, [created.token]);
    });
}
