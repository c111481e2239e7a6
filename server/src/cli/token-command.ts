import type { Command } from "commander";
import { OstiaryError } from "../../../sdk/src/core/errors.ts";
import type { CommandParts } from "./run.ts";

/** `token`: what the other commands need. */
export function addTokenCommand(program: Command, { asPerson, print }: CommandParts): void {
  program
    .command("token")
    .description("create a management token for this operator; the token is not shown again")
    .argument("<name>", "name of the token")
    .option("--expires-in-days <days>", "days until the token expires", "90")
    .action(async (name: string, options: { expiresInDays: string }) => {
      if (!/^\d{1,4}$/.test(options.expiresInDays)) {
        throw new OstiaryError("--expires-in-days must be a whole number of days, such as 90.");
      }
      const expiresInDays = Number(options.expiresInDays);
      const created = await asPerson((trpc) => trpc.tokens.create.mutate({ name, expiresInDays }));
      print(created, [created.token]);
    });
}
