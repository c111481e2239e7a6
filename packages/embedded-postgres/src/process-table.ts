import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { PLAIN_ENVIRONMENT, run } from "./command.ts";

/**
 * The running processes whose command line contains `marker`. Zombies have no command line. The working folder is no
 * alternative, because root in a container may not read it.
 */
export async function processesMarked(marker: string): Promise<readonly number[]> {
  if (process.platform !== "linux") return fromPs(marker);
  try {
    return await fromProcFiles(marker);
  } catch {
    // Deno without --allow-all denies the service access to /proc, but not its child processes.
    return fromGrep(marker);
  }
}

async function fromProcFiles(marker: string): Promise<readonly number[]> {
  await readFile("/proc/self/cmdline");
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commandLines = await Promise.all(
    // A process that has ended in the meantime is not running.
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return pids.filter((_, index) => commandLines[index]?.includes(marker)).map(Number);
}

async function fromGrep(marker: string): Promise<readonly number[]> {
  // The script receives the marker on stdin: as an argument it would match grep itself.
  const script = "exec grep -lFs -f - /proc/[0-9]*/cmdline";
  const found = await run(
    { file: "/bin/sh", args: ["-c", script], cwd: "/", env: PLAIN_ENVIRONMENT },
    `${marker}\n`,
  );
  return [...found.output.matchAll(/^\/proc\/(\d+)\/cmdline$/gm)].map((match) => Number(match[1]));
}

async function fromPs(marker: string): Promise<readonly number[]> {
  const all = await run({ file: "ps", args: ["-Awwo", "pid=,command="], cwd: "/", env: PLAIN_ENVIRONMENT });
  return all.output
    .split("\n")
    .filter((line) => line.includes(marker))
    .map((line) => Number.parseInt(line, 10));
}
