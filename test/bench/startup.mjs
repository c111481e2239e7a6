// Measures what a newcomer and an operator feel: how long from `start` to the first answered request, on an empty data
// folder and on one with data, and how much memory the idle service takes with its bundled database.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const IDLE_MS = 3_000;

async function start(dataDir, demo) {
  const startedMs = performance.now();
  const main = ["server/dist/main.js"];
  // The key is shown on a terminal only. util-linux' `script` is one, and passes SIGTERM on. It reports on its stderr how it ended.
  const onTerminal = ["-qefc", `exec ${process.execPath} ${main}`, "/dev/null"];
  const child = spawn(demo ? "script" : process.execPath, demo ? onTerminal : main, {
    cwd: ROOT,
    env: {
      ...process.env,
      PORT: "0",
      OSTIARY_DATA_DIR: dataDir,
      OSTIARY_DEMO: demo ? "1" : "0",
      OSTIARY_LOG: demo ? "error" : "info",
    },
    stdio: demo ? ["ignore", "pipe", "ignore"] : ["ignore", "ignore", "pipe"],
  });
  // The log is written to stderr.
  const output = demo ? child.stdout : child.stderr;
  let printed = "";
  output.setEncoding("utf8");
  const isReady = demo ? /-d '/ : /"ready"/;
  await new Promise((resolve, reject) => {
    output.on("data", (text) => {
      printed += text;
      if (isReady.test(printed)) resolve();
    });
    child.once("exit", (code) => reject(new Error(`exited with ${code}`)));
  });
  const url = /(?:is ready at |"url":")([^"\s]+)/.exec(printed)[1];
  const key = /sk-[0-9A-Za-z]+/.exec(printed)?.[0];
  return { child, url, key, startedMs };
}

async function answered(url, key) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "Hello" }] }),
  });
  if (response.status !== 200) throw new Error(`answered ${response.status}`);
  await response.text();
}

async function stop(child) {
  child.kill("SIGTERM");
  await new Promise((resolve) => child.once("exit", resolve));
}

/** Proportional set size of a process and all its descendants, in MB: pages shared between them count once. */
function memoryMb(pid) {
  const parents = new Map();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // Gone since it was listed.
    }
  }
  const family = new Set([pid]);
  for (let grown = true; grown; ) {
    grown = false;
    for (const [child, parent] of parents) {
      if (family.has(parent) && !family.has(child)) {
        family.add(child);
        grown = true;
      }
    }
  }
  const pss = (process) =>
    Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${process}/smaps_rollup`, "utf8"))?.[1] ?? 0);
  return { total: [...family].reduce((sum, process) => sum + pss(process), 0) / 1024, own: pss(pid) / 1024 };
}

function summary(values, digits) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.round((sorted.length - 1) * share)].toFixed(digits);
  return `min ${at(0)}  median ${at(0.5)}  max ${at(1)}`;
}

const first = [];
const again = [];
const memory = [];
for (let round = 0; round < ROUNDS; round++) {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-bench-"));
  const fresh = await start(dataDir, true);
  await answered(fresh.url, fresh.key);
  first.push(performance.now() - fresh.startedMs);
  await stop(fresh.child);

  const second = await start(dataDir, false);
  await answered(second.url, fresh.key);
  again.push(performance.now() - second.startedMs);
  if (existsSync("/proc/self/smaps_rollup")) {
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    memory.push(memoryMb(second.child.pid));
  }
  await stop(second.child);
  rmSync(dataDir, { recursive: true, force: true });
}
console.log(
  `start to first answer, empty data folder   (s)   ${summary(
    first.map((ms) => ms / 1000),
    2,
  )}`,
);
console.log(
  `start to first answer, existing data       (s)   ${summary(
    again.map((ms) => ms / 1000),
    2,
  )}`,
);
if (memory.length > 0) {
  console.log(
    `idle memory, service and database (PSS)    (MB)  ${summary(
      memory.map(({ total }) => total),
      0,
    )}`,
  );
  console.log(
    `  of it the service's own process          (MB)  ${summary(
      memory.map(({ own }) => own),
      0,
    )}`,
  );
}
