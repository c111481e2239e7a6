// Type-checks every workspace, all of them even if one fails. Arguments are passed on to the compiler.
import { spawnSync } from "node:child_process";

const projects = [
  "packages/embedded-postgres",
  "server",
  "sdk",
  "sdk/tsconfig.cli.json",
  "dashboard-ui",
  "test",
];
let failed = false;
for (const project of projects) {
  const { status } = spawnSync(
    "npx",
    ["--no-install", "tsc", "-p", project, "--noEmit", ...process.argv.slice(2)],
    {
      stdio: "inherit",
    },
  );
  failed ||= status !== 0;
}
// The SDK's types of the procedures are generated from the router.
const { status } = spawnSync("node", ["packages/sdk-reference/procedures.mjs", "--check"], {
  stdio: "inherit",
});
failed ||= status !== 0;
process.exit(failed ? 1 : 0);
