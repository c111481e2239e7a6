import process from "node:process";
import { operatorProgram, reportCommandFailure } from "./cli/run.ts";

// A reader of a pipe has seen enough, such as `head`.
process.stdout.on("error", () => process.exit());
const run = {
  environment: process.env,
  write: (text: string) => void process.stdout.write(text),
  writeError: (text: string) => void process.stderr.write(text),
};
try {
  await operatorProgram(run).parseAsync(process.argv);
} catch (error) {
  const code = reportCommandFailure(error, run);
  if (code === null) throw error;
  process.exitCode = code;
}
