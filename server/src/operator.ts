import process from "node:process";
import { runOperatorCommand } from "./cli/run.ts";

// A reader of a pipe has seen enough, such as `head`.
process.stdout.on("error", () => process.exit());
const code = await runOperatorCommand({
  arguments: process.argv.slice(2),
  environment: process.env,
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
});
// A command that was done may have found something wrong, and has set a code for it.
if (code !== 0) process.exitCode = code;
