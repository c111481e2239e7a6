// How long the service's event loop stands still at half of what it can serve, and why: turns of more than PAUSE_MS (20) in SECONDS
// (300), with what ran in them. Meanwhile the catalog changes, the log is exported and its chain is verified. OUT is a file for the raw
// figures.
import { mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { report, summary } from "./measure.ts";
import { AS_STARTED, type OstiaryContestant, startModels, startOstiary } from "./peers/contestants.ts";
import { attack, saturate, writeRequest } from "./peers/load.ts";

const SECONDS = Number(process.env.SECONDS ?? 300);
const PAUSE_MS = Number(process.env.PAUSE_MS ?? 20);
const WARM_UP_S = 10;
const RECORDER = new URL("peers/pause-recorder.cjs", import.meta.url).pathname;
/** How often each of the things beside requests is done. */
const EVERY_MS = 10_000;
const SHOWN = 10;

interface Pause {
  readonly fromMs: number;
  readonly ms: number;
  /** For a processor that other processes had. */
  readonly waitedMs: number;
  readonly collections: readonly { readonly kind: string; readonly ms: number }[];
  readonly functions: readonly { readonly name: string; readonly ms: number }[];
}

const folder = await mkdtemp(join(tmpdir(), "ostiary-pauses-"));
const file = join(folder, "pauses.json");
try {
  const loaded = await load();
  const recorded = JSON.parse(await readFile(file, "utf8")) as { pauses: readonly Pause[] };
  const pauses = recorded.pauses.filter(({ fromMs }) => fromMs >= loaded.fromMs && fromMs < loaded.toMs);
  print(loaded.perSecond, loaded.p99Ms, pauses);
  if (process.env.OUT !== undefined)
    await writeFile(process.env.OUT, `${JSON.stringify({ ...loaded, pauses }, null, 1)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Returns when the load began and ended, in milliseconds of the service's own age. */
async function load() {
  const [node, ...args] = AS_STARTED;
  await using models = await startModels();
  const startedMs = performance.now();
  await using ostiary = await startOstiary("Ostiary", models.origin, {
    command: [node, "--require", RECORDER, ...args],
    env: { OSTIARY_BENCH_PAUSES: file, OSTIARY_BENCH_PAUSE_MS: String(PAUSE_MS) },
  });
  await using files = await writeRequest(ostiary);
  await saturate(ostiary, files, WARM_UP_S);
  const { perSecond } = await saturate(ostiary, files, WARM_UP_S);
  const over = new AbortController();
  const beside = doBeside(ostiary, over.signal);
  const fromMs = performance.now() - startedMs;
  const rate = Math.round(perSecond / 2);
  const { p99Ms } = await attack(ostiary, files, { rate, seconds: SECONDS });
  const toMs = performance.now() - startedMs;
  over.abort();
  await beside;
  return { perSecond: rate, p99Ms, fromMs, toMs };
}

/** What owners and operators do while requests come. */
async function doBeside({ service, owner, catalogFile, headers }: OstiaryContestant, over: AbortSignal) {
  while (!over.aborted) {
    const now = new Date();
    await utimes(catalogFile, now, now);
    const since = new Date(Date.now() - EVERY_MS).toISOString();
    const exported = await fetch(`${service.baseUrl}/v1/audit/export?from=${since}`, { headers });
    await exported.arrayBuffer();
    if (!exported.ok) throw new Error(`the export was answered with ${exported.status}`);
    await owner.trpc.audit.verify.query({});
    await setTimeout(EVERY_MS, undefined, { signal: over }).catch(() => {});
  }
}

function print(perSecond: number, p99Ms: number, pauses: readonly Pause[]): void {
  console.log(
    `${perSecond} requests/s for ${SECONDS} s, with exports, verifications and changes of the catalog`,
  );
  report("p99 of a request", "ms", p99Ms.toFixed(1));
  report(`turns of more than ${PAUSE_MS} ms`, "", String(pauses.length));
  if (pauses.length === 0) return;
  report(
    "  their length",
    "ms",
    summary(
      pauses.map(({ ms }) => ms),
      1,
    ),
  );
  const own = pauses.map(({ ms, waitedMs }) => ms - waitedMs);
  report("  without waiting for a processor", "ms", summary(own, 1));
  const longest = pauses.toSorted((one, other) => other.ms - one.ms).slice(0, SHOWN);
  for (const { ms, waitedMs, collections, functions } of longest) {
    const collected = collections.map((each) => `${each.kind} ${each.ms.toFixed(1)}`);
    const ran = functions.slice(0, 3).map((each) => `${each.name} ${each.ms.toFixed(1)}`);
    const waited = `waited for a processor ${waitedMs.toFixed(1)}`;
    console.log(`  ${ms.toFixed(1)} ms: ${[waited, ...collected, ...ran].join(", ")}`);
  }
}
