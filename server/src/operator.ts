import process from "node:process";
import { endWithOutput } from "./cli/output.ts";
import { operatorProgram, reportCommandFailure } from "./cli/run.ts";

endWithOutput();
const run = {
  environment: process.env,
  write: (text: string) => void process.stdout.write(text),
  writeError: (text: string) => void process.stderr.write(text),
};
try {
  await operatorProgram(run).parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportCommandFailure(error, run);
}
