import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Contestant } from "./contestants.ts";
import { type CpuTime, cpuOf } from "./processes.ts";
import { installVegeta, run, TOOLS } from "./tools.ts";

const CONNECTIONS = 64;
/** Beyond this many requests under way the next ones wait: with more connections the program itself is what is measured. */
const LOAD = "-timeout=10s -connections=4000 -max-workers=4000 -max-body=0";
let attacks = 0;

/**
 * What vegeta is to do. Each attack comes from an address of its own: with thousands of ports of former ones still closing, the kernel
 * takes most of the processor to find free ports on a shared address.
 */
function attackOf(files: RequestFiles, rate: number, seconds: number): string {
  attacks++;
  const address = `127.0.1.${1 + (attacks % 250)}`;
  const pace = `-rate=${rate} -duration=${seconds}s`;
  return `"${join(TOOLS, "vegeta")}" attack ${pace} ${LOAD} -laddr=${address} -targets="${files.vegetaTarget}"`;
}

/** What a contestant did under as many requests as it could serve over 64 connections. */
export interface Saturated {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time in microseconds a request. */
  readonly cpu: CpuTime;
}

/** What a contestant did under requests that came at a steady rate, whether or not earlier ones were answered. */
export interface OpenLoop {
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Answers with status 200 a second. */
  readonly goodPerSecond: number;
  /** The share of requests with status 200. */
  readonly success: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly cpu: CpuTime;
}

/** A file with the request, as the programs that make load want it. Removed at the end. */
export interface RequestFiles extends AsyncDisposable {
  readonly wrkScript: string;
  readonly vegetaTarget: string;
  readonly bodyFile: string;
}

export async function writeRequest(contestant: Contestant): Promise<RequestFiles> {
  const folder = await mkdtemp(join(tmpdir(), "ostiary-load-"));
  const { url, headers, body } = contestant;
  const wrkScript = join(folder, "request.lua");
  const vegetaTarget = join(folder, "target");
  const bodyFile = join(folder, "body.json");
  const all = Object.entries({ "content-type": "application/json", ...headers });
  await writeFile(bodyFile, body);
  await writeFile(
    wrkScript,
    [
      'wrk.method = "POST"',
      `wrk.body = ${JSON.stringify(body)}`,
      ...all.map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`),
      "function done(summary, latency)",
      '  io.write(string.format("RESULT %d %d %d %f %f\\n", summary.requests, summary.duration,',
      "    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,",
      "    latency:percentile(50), latency:percentile(99)))",
      "end",
    ].join("\n"),
  );
  const lines = all.map(([name, value]) => `${name}: ${value}`);
  await writeFile(vegetaTarget, [`POST ${url}`, ...lines, `@${bodyFile}`, ""].join("\n"));
  return {
    wrkScript,
    vegetaTarget,
    bodyFile,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Saturates a contestant for some seconds. @throws when an answer is not 2xx, as such a run says nothing. */
export async function saturate(
  contestant: Contestant,
  files: RequestFiles,
  seconds: number,
): Promise<Saturated> {
  const before = cpuOf(contestant.pids());
  const printed = await run("wrk", [
    ...["-t", "1", "-c", String(CONNECTIONS), "-d", `${seconds}s`, "--timeout", "30s"],
    ...["-s", files.wrkScript, contestant.url],
  ]);
  const after = cpuOf(contestant.pids());
  const [, requests = 0, durationUs = 0, errors = 0, p50 = 0, p99 = 0] =
    /RESULT (\S+) (\S+) (\S+) (\S+) (\S+)/.exec(printed)?.map(Number) ?? [];
  if (requests === 0 || errors > 0)
    throw new Error(`${contestant.name}: ${errors} of ${requests} failed\n${printed}`);
  return {
    requests,
    perSecond: requests / (durationUs / 1e6),
    p50Ms: p50 / 1_000,
    p99Ms: p99 / 1_000,
    cpu: difference(before, after, requests),
  };
}

/** Sends requests at a steady rate for some seconds. */
export async function attack(
  contestant: Contestant,
  files: RequestFiles,
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
): Promise<OpenLoop> {
  await installVegeta();
  const before = cpuOf(contestant.pids());
  const report = `"${join(TOOLS, "vegeta")}" report -type=json`;
  const printed = await run("sh", ["-c", `${attackOf(files, rate, seconds)} | ${report}`]);
  const after = cpuOf(contestant.pids());
  const { latencies, duration, wait, status_codes, requests, success } = JSON.parse(printed);
  return {
    rate,
    p50Ms: latencies["50th"] / 1e6,
    p99Ms: latencies["99th"] / 1e6,
    maxMs: latencies.max / 1e6,
    goodPerSecond: (status_codes["200"] ?? 0) / ((duration + wait) / 1e9),
    success,
    statuses: status_codes,
    cpu: difference(before, after, requests),
  };
}

/** What a contestant did when more requests came than it can serve. */
export interface Overloaded {
  /** Answers with status 200 a second. */
  readonly goodPerSecond: number;
  readonly goodP50Ms: number;
  readonly goodP99Ms: number;
  /** `null`: none was refused with 503. */
  readonly refusedP50Ms: number | null;
  readonly refusedP99Ms: number | null;
  /** Answers by status; `-1`: the connection was lost. */
  readonly statuses: Readonly<Record<string, number>>;
  /** From the end of the load to the first of ten answers in a row that each took less than 50 ms. `null`: not within 30 seconds. */
  readonly recoveredMs: number | null;
}

/** Clients of an overload, each of which sends at a steady rate unless it still waits for an answer. */
const CROWD = 4_000;
/** Its programs begin one after the other in the time between two requests of a client, or all clients would send at once. */
const PROGRAMS = 10;
const QUICK_MS = 50;
const QUICK_IN_A_ROW = 10;
const RECOVERY_TIMEOUT_MS = 30_000;

/**
 * Sends more requests than a contestant can serve, and waits until it is well again. By h2load, which takes a quarter of a processor at
 * rates at which vegeta takes as much as the contestant.
 */
export async function overload(
  contestant: Contestant,
  files: RequestFiles,
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
): Promise<Overloaded> {
  const headers = Object.entries({ "content-type": "application/json", ...contestant.headers });
  const logs = Array.from({ length: PROGRAMS }, (_, index) => `${files.bodyFile}.${index}.log`);
  const programs = logs.map(async (log, index) => {
    await setTimeout((index / PROGRAMS) * (CROWD / rate) * 1_000);
    await run("h2load", [
      ...["--h1", "-m", "1", "-c", String(CROWD / PROGRAMS), `--rps=${rate / CROWD}`, "-D", String(seconds)],
      ...["-d", files.bodyFile, ...headers.flatMap(([name, value]) => ["-H", `${name}: ${value}`])],
      ...[`--log-file=${log}`, contestant.url],
    ]);
  });
  await Promise.all(programs);
  const endedMs = performance.now();
  let recoveredMs = 0;
  let quick = 0;
  while (quick < QUICK_IN_A_ROW && performance.now() - endedMs < RECOVERY_TIMEOUT_MS) {
    const startedMs = performance.now();
    const { url, headers, body } = contestant;
    const all = { "content-type": "application/json", ...headers };
    const response = await fetch(url, { method: "POST", headers: all, body }).catch(() => null);
    await response?.arrayBuffer();
    const isQuick = response?.status === 200 && performance.now() - startedMs < QUICK_MS;
    if (isQuick && quick === 0) recoveredMs = performance.now() - endedMs;
    quick = isQuick ? quick + 1 : 0;
  }
  const latenciesMs = new Map<string, number[]>();
  for (const log of logs)
    for (const line of (await readFile(log, "utf8")).split("\n")) {
      const [, status, latencyUs] = line.split("\t");
      if (status === undefined) continue;
      const known = latenciesMs.get(status);
      if (known === undefined) latenciesMs.set(status, [Number(latencyUs) / 1e3]);
      else known.push(Number(latencyUs) / 1e3);
    }
  const good = latenciesMs.get("200") ?? [];
  const refused = latenciesMs.get("503");
  return {
    goodPerSecond: good.length / seconds,
    goodP50Ms: percentile(good, 0.5),
    goodP99Ms: percentile(good, 0.99),
    refusedP50Ms: refused === undefined ? null : percentile(refused, 0.5),
    refusedP99Ms: refused === undefined ? null : percentile(refused, 0.99),
    statuses: Object.fromEntries([...latenciesMs].map(([status, all]) => [status, all.length])),
    recoveredMs: quick === QUICK_IN_A_ROW ? recoveredMs : null,
  };
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

function difference(before: CpuTime, after: CpuTime, requests: number): CpuTime {
  return { own: (after.own - before.own) / requests, stores: (after.stores - before.stores) / requests };
}
