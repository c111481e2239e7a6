// Whether anything grows while the service runs for long: memory, files of the journal, open files and connections to the database, a
// minute at a time. MINUTES (60) and RATE (half of what the service serves when saturated) say how long and how much. OUT is a file for
// the raw figures.
import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { median, report, summary } from "./measure.ts";
import { type OstiaryContestant, startModels, startOstiary } from "./peers/contestants.ts";
import { attack, saturate, writeRequest } from "./peers/load.ts";
import { processesBelow, residentBytes } from "./peers/processes.ts";

const MINUTES = Number(process.env.MINUTES ?? 60);
const MINUTE_S = 60;
const WARM_UP_S = 10;
const MIB = 1_024 * 1_024;

/** What the service takes at the end of a minute. */
interface Minute {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The share of requests that were answered with 200. */
  readonly success: number;
  readonly residentMib: number;
  readonly journalFiles: number;
  readonly openFiles: number;
  readonly databaseProcesses: number;
}

await using models = await startModels();
await using ostiary = await startOstiary("Ostiary", models.origin, {});
await using files = await writeRequest(ostiary);
await saturate(ostiary, files, WARM_UP_S);
const { perSecond } = await saturate(ostiary, files, WARM_UP_S);
const rate = Number(process.env.RATE ?? Math.round(perSecond / 2));
const minutes: Minute[] = [];
while (minutes.length < MINUTES) {
  const { p50Ms, p99Ms, success } = await attack(ostiary, files, { rate, seconds: MINUTE_S });
  minutes.push({ p50Ms, p99Ms, success, ...takenBy(ostiary) });
}
print();
if (process.env.OUT !== undefined)
  await writeFile(process.env.OUT, `${JSON.stringify({ rate, minutes }, null, 1)}\n`);

function takenBy({ service: { pid, dataDir } }: OstiaryContestant) {
  return {
    residentMib: residentBytes(pid) / MIB,
    journalFiles: readdirSync(join(dataDir, "journal")).length,
    openFiles: readdirSync(`/proc/${pid}/fd`).length,
    databaseProcesses: processesBelow(pid).filter(({ name }) => name === "postgres").length,
  };
}

/** The first quarter of the minutes beside the last: what grows differs. */
function print(): void {
  console.log(`${rate} requests/s for ${MINUTES} minutes, in the first quarter and in the last`);
  const quarter = Math.max(1, Math.floor(MINUTES / 4));
  const row = (what: string, unit: string, value: (minute: Minute) => number, digits = 0) => {
    const [first, last] = [minutes.slice(0, quarter), minutes.slice(-quarter)].map((part) => part.map(value));
    report(what, unit, `${median(first ?? []).toFixed(digits)} → ${summary(last ?? [], digits)}`);
  };
  row("memory of the process", "MiB", ({ residentMib }) => residentMib);
  row("files of the journal", "", ({ journalFiles }) => journalFiles);
  row("open files and connections", "", ({ openFiles }) => openFiles);
  row("processes of the database", "", ({ databaseProcesses }) => databaseProcesses);
  row("p50 of a request", "ms", ({ p50Ms }) => p50Ms, 1);
  row("p99 of a request", "ms", ({ p99Ms }) => p99Ms, 1);
  report(
    "minutes in which a request failed",
    "",
    String(minutes.filter(({ success }) => success < 1).length),
  );
}
