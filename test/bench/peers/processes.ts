import { readdirSync, readFileSync } from "node:fs";

/** CPU time in microseconds: of the contestant's own processes, and of the databases that it starts or uses. */
export interface CpuTime {
  readonly own: number;
  readonly stores: number;
}

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly cpuUs: number;
}

/** Linux counts CPU time in hundredths of a second. */
const TICK_US = 10_000;
const STORES = new Set(["postgres", "redis-server"]);

/**
 * The CPU time that the kernel has counted for processes and all their descendants. Processes that have ended are counted by their
 * parents. A process of PostgreSQL or Redis is a store, whoever started it.
 */
export function cpuOf(roots: readonly number[]): CpuTime {
  let own = 0;
  let stores = 0;
  for (const { name, cpuUs } of processesBelow(...roots)) {
    if (STORES.has(name)) stores += cpuUs;
    else own += cpuUs;
  }
  return { own, stores };
}

/** Processes, and all their descendants. */
export function processesBelow(...roots: readonly number[]): readonly Process[] {
  const processes = runningProcesses();
  const found = new Set(processes.filter(({ pid }) => roots.includes(pid)));
  // What is added while a set is iterated over is visited, too.
  for (const { pid } of found) for (const each of processes) if (each.parent === pid) found.add(each);
  return [...found];
}

/** The resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024;
}

function runningProcesses(): Process[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
      // From the third field on; see proc(5): parent, user and system time, and those of children that were waited for.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
      return [{ pid: Number(pid), parent: Number(fields[1]), name, cpuUs: ticks * TICK_US }];
    } catch {
      // It has just ended.
      return [];
    }
  });
}
