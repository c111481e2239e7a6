import process from "node:process";
import { isatty } from "node:tty";

// Nothing else is imported here: an older Node can't load the rest of the service.

/** The oldest release with what the service uses, for each line that has releases without it. Newer lines have it from their beginning. */
const OLDEST_MINOR: ReadonlyMap<number, number> = new Map([
  [20, 19],
  [21, Number.POSITIVE_INFINITY],
  [22, 2],
]);
const OLDEST_LINE = 20;

/** The last day on which a line of Node gets security fixes: see https://github.com/nodejs/Release. */
const LAST_FIXES: ReadonlyMap<number, string> = new Map([
  [20, "2026-04-30"],
  [22, "2027-04-30"],
  [23, "2025-06-01"],
  [24, "2028-04-30"],
  [25, "2026-06-01"],
  [26, "2029-04-30"],
]);

const STDERR = 2;

/** Whether the service runs on this version of Node, such as `20.19.0`. */
export function runsOn(version: string): boolean {
  const { line, minor } = partsOf(version);
  return line >= OLDEST_LINE && minor >= (OLDEST_MINOR.get(line) ?? 0);
}

/** A warning if a version of Node gets no security fixes any more; `null` if it does, or if that is unknown. */
export function nodeWarning(version: string, now: Date): string | null {
  const lastDay = LAST_FIXES.get(partsOf(version).line);
  if (lastDay === undefined || now.toISOString().slice(0, 10) <= lastDay) return null;
  return `Node ${version} has had no security fixes since ${lastDay}. Run the service on a newer line of Node.`;
}

/** The warnings about the runtime of this process. Deno pretends to be a version of Node. */
export function runtimeWarnings(now: Date): readonly string[] {
  const warning = process.versions.deno === undefined ? nodeWarning(process.versions.node, now) : null;
  return warning === null ? [] : [warning];
}

/** Ends the process with what to do if its Node is too old. Call it before anything else is loaded. */
export function requireNode(): void {
  const { node, deno } = process.versions;
  if (deno !== undefined || runsOn(node)) return;
  const msg = `The service does not run on Node ${node}. Install Node 20.19, 22.2 or a newer line, and start the service with it.`;
  const line = { level: "fatal", time: new Date().toISOString(), pid: process.pid, msg };
  process.stderr.write(`${isatty(STDERR) ? msg : JSON.stringify(line)}\n`);
  process.exit(1);
}

function partsOf(version: string): { readonly line: number; readonly minor: number } {
  const [line = "", minor = ""] = version.split(".");
  return { line: Number(line), minor: Number(minor) };
}
