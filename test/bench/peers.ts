// The service beside its peers, all on this machine in one run: what a request costs in CPU time, counted by the kernel for each
// process tree, with the databases told apart; how long requests take at a steady rate; how many a second stay below a latency; and
// what happens when twice as many come as can be served. What can't be had on this machine is named.
//
// Needs nginx and wrk (Debian's packages) and Go; what else it needs it installs below node_modules/.cache. Linux only.
// ONLY names contestants, ROUNDS and SECONDS say how long it takes, OUT is a file for the raw figures.
import { writeFile } from "node:fs/promises";
import { median } from "./measure.ts";
import { CONTESTANTS, type Contestant, startModels } from "./peers/contestants.ts";
import {
  attack,
  type OpenLoop,
  overload,
  type RequestFiles,
  type Saturated,
  saturate,
  writeRequest,
} from "./peers/load.ts";
import { find, installVegeta } from "./peers/tools.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const SECONDS = Number(process.env.SECONDS ?? 6);
const OVERLOAD_SECONDS = Number(process.env.OVERLOAD_SECONDS ?? 30);
const ONLY = process.env.ONLY?.split(";");
const RATES = [250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000];
const SHOWN_RATES = [500, 1_000, 2_000, 3_000];
const LATENCIES_MS = [1, 5, 10, 50];
const MIN_SUCCESS = 0.999;
const BARE = "bare undici proxy";

interface Runner extends AsyncDisposable {
  readonly contestant: Contestant;
  readonly files: RequestFiles;
  readonly saturated: Saturated[];
  readonly openLoop: OpenLoop[];
}

if ((await find("wrk")) === null) throw new Error("needs wrk: apt-get install wrk");
await installVegeta();
await using models = await startModels();
const runners: Runner[] = [];
const absent: string[] = [];
try {
  for (const [name, start] of Object.entries(CONTESTANTS)) {
    if (ONLY !== undefined && !ONLY.includes(name)) continue;
    try {
      runners.push(await enter(await start(models.origin)));
    } catch (error) {
      absent.push(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  await measure();
} finally {
  for (const runner of runners) await runner[Symbol.asyncDispose]();
}

async function enter(contestant: Contestant): Promise<Runner> {
  const files = await writeRequest(contestant);
  return {
    contestant,
    files,
    saturated: [],
    openLoop: [],
    [Symbol.asyncDispose]: async () => {
      await files[Symbol.asyncDispose]();
      await contestant[Symbol.asyncDispose]();
    },
  };
}

async function measure(): Promise<void> {
  // The first seconds are those of the compilers.
  for (const { contestant, files } of runners) await saturate(contestant, files, 2 * SECONDS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const { contestant, files, saturated } of runners) {
      saturated.push(await saturate(contestant, files, SECONDS));
    }
  }
  printSaturated();
  for (let round = 0; round < ROUNDS; round++) for (const runner of runners) await climb(runner);
  printOpenLoop();
  await printOverload();
  for (const line of absent) console.log(`could not be had: ${line}`);
  if (process.env.OUT !== undefined) {
    const raw = runners.map(({ contestant: { name }, saturated, openLoop }) => ({
      name,
      saturated,
      openLoop,
    }));
    await writeFile(process.env.OUT, `${JSON.stringify({ raw, absent }, null, 1)}\n`);
  }
}

/** Raises the rate until the slowest hundredth takes longer than anybody would wait for, or requests fail. */
async function climb({ contestant, files, saturated, openLoop }: Runner): Promise<void> {
  const best = median(saturated.map(({ perSecond }) => perSecond));
  for (const rate of RATES) {
    if (rate > best) break;
    const result = await attack(contestant, files, { rate, seconds: SECONDS });
    openLoop.push(result);
    if (result.success < MIN_SUCCESS || result.p99Ms > 20 * Math.max(...LATENCIES_MS)) break;
  }
}

function printSaturated(): void {
  const cells = runners.map(({ contestant: { name }, saturated }) => {
    const of = (value: (each: Saturated) => number) => median(saturated.map(value));
    return { name, own: of(({ cpu }) => cpu.own), stores: of(({ cpu }) => cpu.stores), of };
  });
  const bare = cells.find(({ name }) => name === BARE)?.own;
  table(
    [
      "saturated, 64 connections",
      "CPU µs a request",
      "× bare proxy",
      "µs of the stores",
      "requests/s",
      "p50 ms",
      "p99 ms",
    ],
    cells.map(({ name, own, stores, of }) => [
      name,
      own.toFixed(0),
      bare === undefined ? "–" : (own / bare).toFixed(2),
      stores.toFixed(0),
      of(({ perSecond }) => perSecond).toFixed(0),
      of(({ p50Ms }) => p50Ms).toFixed(1),
      of(({ p99Ms }) => p99Ms).toFixed(1),
    ]),
  );
}

function printOpenLoop(): void {
  const at = ({ openLoop }: Runner, rate: number) => openLoop.filter((each) => each.rate === rate);
  table(
    ["open loop, p99 ms (p50)", ...SHOWN_RATES.map((rate) => `${rate}/s`)],
    runners.map((runner) => [
      runner.contestant.name,
      ...SHOWN_RATES.map((rate) => {
        const results = at(runner, rate);
        if (results.length === 0) return "–";
        const [p50, p99] = [
          median(results.map((each) => each.p50Ms)),
          median(results.map((each) => each.p99Ms)),
        ];
        return `${p99.toFixed(1)} (${p50.toFixed(1)})`;
      }),
    ]),
  );
  const isWithin = (results: readonly OpenLoop[], ms: number) =>
    results.length > 0 &&
    median(results.map(({ p99Ms }) => p99Ms)) <= ms &&
    median(results.map(({ success }) => success)) >= MIN_SUCCESS;
  table(
    ["most requests/s at p99 ≤", ...LATENCIES_MS.map((ms) => `${ms} ms`)],
    runners.map((runner) => [
      runner.contestant.name,
      ...LATENCIES_MS.map((ms) => {
        const rate = RATES.findLast((each) => isWithin(at(runner, each), ms));
        return rate === undefined ? `< ${RATES[0]}` : String(rate);
      }),
    ]),
  );
}

async function printOverload(): Promise<void> {
  const rows: string[][] = [];
  for (const { contestant, files, openLoop } of runners) {
    // By the same program: it takes more of the processor than the one that saturates.
    const best = Math.max(...openLoop.map(({ goodPerSecond }) => goodPerSecond));
    if (!contestant.name.startsWith("Ostiary") && contestant.name !== BARE) continue;
    const result = await overload(contestant, files, {
      rate: Math.round(2 * best),
      seconds: OVERLOAD_SECONDS,
    });
    rows.push([
      contestant.name,
      `${Math.round(2 * best)}/s`,
      (result.goodPerSecond / best).toFixed(2),
      result.refusedP99Ms === null ? "–" : result.refusedP99Ms.toFixed(0),
      result.goodP99Ms.toFixed(0),
      Object.entries(result.statuses)
        .map(([status, count]) => `${status}: ${count}`)
        .join(", "),
      result.recoveredMs === null ? "–" : result.recoveredMs.toFixed(0),
    ]);
  }
  const head = ["goodput / best", "p99 ms of refusals", "p99 ms of answers", "answers", "ms to recover"];
  table([`overload, ${OVERLOAD_SECONDS} s at twice the most`, "rate", ...head], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  console.log(["", line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n"));
}
