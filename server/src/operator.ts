import process from "node:process";
import { runOperatorCommand } from "./operator-cli/run.ts";

process.exitCode = await runOperatorCommand({
  arguments: process.argv.slice(2),
  environment: process.env,
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
});
