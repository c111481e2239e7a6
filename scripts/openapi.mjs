// Writes docs/reference/openapi.json again: the document that the built service answers at /v1/openapi.json, without its address.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const file = join(root, "docs/reference/openapi.json");
const data = mkdtempSync(join(tmpdir(), "ostiary-openapi-"));
const service = spawn(process.execPath, [join(root, "server/dist/main.js")], {
  env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: "0", OSTIARY_DATA_DIR: data },
  stdio: ["ignore", "ignore", "pipe"],
});
try {
  const { servers, ...document } = await (await fetch(`${await addressOf(service)}/v1/openapi.json`)).json();
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
} finally {
  service.kill("SIGTERM");
  if (service.exitCode === null) await once(service, "exit");
  rmSync(data, { recursive: true, force: true });
}
spawnSync(join(root, "test/node_modules/.bin/biome"), ["format", "--write", file], {
  cwd: root,
  stdio: "inherit",
});

/** The address that the service logs once it is ready. */
async function addressOf({ stderr }) {
  for await (const line of createInterface({ input: stderr })) {
    const { level, msg, listensOn } = JSON.parse(line);
    if (msg === "ready") return listensOn;
    if (level !== "info") process.stderr.write(`${line}\n`);
  }
  throw new Error("the service ended before it listened");
}
