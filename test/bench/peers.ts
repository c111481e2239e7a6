// The service beside its peers, all on this machine in one run: what a request costs in CPU time, counted by the kernel for each
// process tree, with the databases told apart; how long requests take at a steady rate; how many a second stay below a latency; and
// what happens when twice as many come as can be served. What can't be had on this machine is named.
//
// Needs nginx, wrk and h2load (Debian's packages nginx-light, wrk and nghttp2-client) and Go; what else it needs it installs below
// node_modules/.cache. Linux only.
// ONLY names contestants, ROUNDS, SECONDS and WARM_UP_SECONDS say how long it takes, OUT is a file for the raw figures.
import { writeFile } from "node:fs/promises";
import { median } from "./measure.ts";
import { CONTESTANTS, type Contestant, type Start, startModels } from "./peers/contestants.ts";
import {
  attack,
  type OpenLoop,
  type Overloaded,
  overload,
  type RequestFiles,
  type Saturated,
  saturate,
  writeRequest,
} from "./peers/load.ts";
import { find } from "./peers/tools.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const SECONDS = Number(process.env.SECONDS ?? 6);
/** V8 compiles the code of a process that is busy from its start for about this long, in which a request takes a tenth more CPU time. */
const WARM_UP_SECONDS = Number(process.env.WARM_UP_SECONDS ?? 40);
const OVERLOAD_SECONDS = Number(process.env.OVERLOAD_SECONDS ?? 30);
const ONLY = process.env.ONLY?.split(";");
const RATES = [
  250, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000, 5_500, 6_000, 7_000, 8_000,
];
const SHOWN_RATES = [500, 1_000, 2_000, 3_000];
const LATENCIES_MS = [1, 5, 10, 50];
const MIN_SUCCESS = 0.999;
const BARE = "bare undici proxy";

/** An overload of twice the most that was served in the open loop, and what share of that was served then. */
interface OverloadOfMost extends Overloaded {
  readonly perSecond: number;
  readonly ofMost: number;
}

/** What was measured of a contestant. */
interface Measured {
  readonly name: string;
  readonly saturated: Saturated[];
  readonly openLoop: OpenLoop[];
  readonly overloads: OverloadOfMost[];
}

if ((await find("wrk")) === null) throw new Error("needs wrk: apt-get install wrk");
if ((await find("h2load")) === null) throw new Error("needs h2load: apt-get install nghttp2-client");
await using models = await startModels();
const all = new Map<string, Measured>();
const absent = new Map<string, string>();
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, start] of Object.entries(CONTESTANTS)) {
    if (absent.has(name) || (ONLY !== undefined && !ONLY.includes(name))) continue;
    try {
      await measureOnce(start, measuredOf(name));
    } catch (error) {
      absent.set(name, error instanceof Error ? error.message : String(error));
    }
  }
}
const measured = [...all.values()];
printSaturated();
printOpenLoop();
printOverload();
for (const [name, reason] of absent) console.log(`could not be had: ${name}: ${reason}`);
if (process.env.OUT !== undefined) {
  await writeFile(process.env.OUT, `${JSON.stringify({ raw: measured, absent: [...absent] }, null, 1)}\n`);
}

function measuredOf(name: string): Measured {
  const known = all.get(name) ?? { name, saturated: [], openLoop: [], overloads: [] };
  all.set(name, known);
  return known;
}

/**
 * Starts a contestant for one round. One runs at a time: the databases of another one would tidy up after it was saturated.
 * esbuild's translation of `await using` throws the failure of one turn of a loop in all later ones, so this is no part of the loop.
 */
async function measureOnce(start: Start, known: Measured): Promise<void> {
  await using contestant = await start(models.origin);
  await using files = await writeRequest(contestant);
  await saturate(contestant, files, WARM_UP_SECONDS);
  known.saturated.push(await saturate(contestant, files, SECONDS));
  await climb(contestant, files, known);
  if (known.name.startsWith("Ostiary") || known.name === BARE)
    known.overloads.push(await overloadOfMost(contestant, files, known));
}

/** Raises the rate until the slowest hundredth takes longer than anybody would wait for, or requests fail. */
async function climb(
  contestant: Contestant,
  files: RequestFiles,
  { saturated, openLoop }: Measured,
): Promise<void> {
  const best = median(saturated.map(({ perSecond }) => perSecond));
  for (const rate of RATES) {
    if (rate > best) break;
    const result = await attack(contestant, files, { rate, seconds: SECONDS });
    openLoop.push(result);
    if (result.success < MIN_SUCCESS || result.p99Ms > 20 * Math.max(...LATENCIES_MS)) break;
  }
}

function printSaturated(): void {
  const cells = measured.map(({ name, saturated }) => {
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
  const at = ({ openLoop }: Measured, rate: number) => openLoop.filter((each) => each.rate === rate);
  table(
    ["open loop, p99 ms (p50)", ...SHOWN_RATES.map((rate) => `${rate}/s`)],
    measured.map((runner) => [
      runner.name,
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
    measured.map((runner) => [
      runner.name,
      ...LATENCIES_MS.map((ms) => {
        // By chance, a higher rate may stay within a limit that a lower one has exceeded. It does not count.
        const exceeded = RATES.findIndex((each) => !isWithin(at(runner, each), ms));
        const within = exceeded === -1 ? RATES : RATES.slice(0, exceeded);
        return String(within.at(-1) ?? `< ${RATES[0]}`);
      }),
    ]),
  );
}

async function overloadOfMost(
  contestant: Contestant,
  files: RequestFiles,
  { openLoop }: Measured,
): Promise<OverloadOfMost> {
  const most = Math.max(...openLoop.map(({ goodPerSecond }) => goodPerSecond));
  const perSecond = Math.round(2 * most);
  const overloaded = await overload(contestant, files, { rate: perSecond, seconds: OVERLOAD_SECONDS });
  return { ...overloaded, perSecond, ofMost: overloaded.goodPerSecond / most };
}

/** The medians of the rounds. */
function printOverload(): void {
  const rows = measured
    .filter(({ overloads }) => overloads.length > 0)
    .map(({ name, saturated, overloads }) => {
      const of = (value: (each: OverloadOfMost) => number | null) => {
        const values = overloads.map(value).filter((each) => each !== null);
        return values.length === 0 ? null : median(values);
      };
      const shown = (value: (each: OverloadOfMost) => number | null, digits = 0) =>
        of(value)?.toFixed(digits) ?? "–";
      const saturatedPerSecond = median(saturated.map(({ perSecond }) => perSecond));
      return [
        name,
        `${shown(({ perSecond }) => perSecond)}/s`,
        shown(({ ofMost }) => ofMost, 2),
        shown(({ goodPerSecond }) => goodPerSecond / saturatedPerSecond, 2),
        `${shown(({ refusedP50Ms }) => refusedP50Ms)} / ${shown(({ refusedP99Ms }) => refusedP99Ms)}`,
        `${shown(({ goodP50Ms }) => goodP50Ms)} / ${shown(({ goodP99Ms }) => goodP99Ms)}`,
        shown(({ recoveredMs }) => recoveredMs ?? Number.POSITIVE_INFINITY),
      ];
    });
  table(
    [
      `overload, ${OVERLOAD_SECONDS} s at twice the most`,
      "rate",
      "served, of the most in open loop",
      "of saturated",
      "ms of refusals, p50 / p99",
      "ms of answers, p50 / p99",
      "ms to recover",
    ],
    rows,
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  console.log(["", line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n"));
}
