// Runs the measurements named as arguments, or all of them. Numbers are for comparing within one run: other work on
// the machine moves them.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const all = readdirSync(here)
  .filter((name) => /^[a-z-]+\.(mjs|ts)$/.test(name) && name !== "run.mjs" && name !== "measure.ts")
  .map((name) => name.replace(/\.\w+$/, ""));
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`There is no measurement ${unknown.join(", ")}. There are ${all.join(", ")}.`);
  process.exit(2);
}
let failed = false;
for (const name of asked.length > 0 ? asked : all) {
  console.log(`── ${name}`);
  const file = readdirSync(here).find((candidate) => candidate.startsWith(`${name}.`));
  const { status } = spawnSync(process.execPath, ["--expose-gc", "--import", "tsx", `${here}/${file}`], {
    stdio: "inherit",
  });
  failed ||= status !== 0;
}
process.exit(failed ? 1 : 0);
