// Loaded into the service by `npm run bench pauses`: notices each turn of the event loop that takes longer than OSTIARY_BENCH_PAUSE_MS,
// and what ran in it. Writes them to the file OSTIARY_BENCH_PAUSES when the process ends.
const { readFileSync, writeFileSync } = require("node:fs");
const { Session } = require("node:inspector");
const { PerformanceObserver, constants, performance } = require("node:perf_hooks");

const MIN_MS = Number(process.env.OSTIARY_BENCH_PAUSE_MS);
const FILE = process.env.OSTIARY_BENCH_PAUSES;
/** How often the time is looked at. */
const STEP_MS = 2;
const SAMPLED_EVERY_US = 1_000;
const COLLECTIONS = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor collection",
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major collection",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental marking",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weak references",
};

// Worker threads and the service's short-lived children have no requests.
if (
  FILE !== undefined &&
  require("node:worker_threads").isMainThread &&
  /main\.js$/.test(process.argv[1] ?? "")
)
  record();

function record() {
  const pauses = [];
  const collections = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration, detail } of list.getEntries()) {
      collections.push({ fromMs: startTime, ms: duration, kind: COLLECTIONS[detail.kind] });
    }
  }).observe({ entryTypes: ["gc"] });
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.setSamplingInterval", { interval: SAMPLED_EVERY_US });
  session.post("Profiler.start");
  let lastMs = performance.now();
  let last = scheduled();
  setInterval(() => {
    const nowMs = performance.now();
    const now = scheduled();
    const ms = nowMs - lastMs - STEP_MS;
    // The process waits for a processor that others have.
    if (ms > MIN_MS) pauses.push({ fromMs: lastMs, ms, waitedMs: now.waitedMs - last.waitedMs });
    lastMs = nowMs;
    last = now;
  }, STEP_MS).unref();
  process.on("exit", () => {
    session.post("Profiler.stop", (error, stopped) => {
      if (error !== null) throw error;
      const functions = functionsIn(stopped.profile);
      const told = pauses.map((pause) => ({
        ...pause,
        collections: collections.filter((each) => overlaps(each, pause)),
        functions: functions(pause),
      }));
      writeFileSync(FILE, JSON.stringify({ seconds: performance.now() / 1_000, pauses: told }));
    });
  });
}

function overlaps(collection, pause) {
  return (
    collection.fromMs < pause.fromMs + pause.ms + STEP_MS && collection.fromMs + collection.ms > pause.fromMs
  );
}

/** How long the main thread has waited for a processor (proc(5), schedstat). */
function scheduled() {
  const [, waitedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return { waitedMs: Number(waitedNs) / 1e6 };
}

/** Returns what tells the functions with the most time in a pause, callees not counted. */
function functionsIn({ nodes, samples, timeDeltas, startTime }) {
  const names = new Map();
  for (const { id, callFrame } of nodes) {
    const file = callFrame.url.split("/").at(-1);
    names.set(
      id,
      `${callFrame.functionName || "(anonymous)"}${file === "" ? "" : ` ${file}:${callFrame.lineNumber + 1}`}`,
    );
  }
  // Both count from an arbitrary moment, the same one: performance.now() begins with the process.
  const beganMs = Number(process.hrtime.bigint() / 1_000n) / 1_000 - performance.now();
  let atMs = startTime / 1_000 - beganMs;
  const times = timeDeltas.map((delta) => {
    atMs += delta / 1_000;
    return atMs;
  });
  return ({ fromMs, ms }) => {
    const inPause = new Map();
    for (
      let index = firstAfter(times, fromMs);
      index < times.length && times[index] < fromMs + ms + STEP_MS;
      index++
    ) {
      const name = names.get(samples[index]);
      inPause.set(name, (inPause.get(name) ?? 0) + timeDeltas[index] / 1_000);
    }
    return [...inPause]
      .filter(([name]) => !/^\((idle|program|root|garbage collector)\)$/.test(name))
      .sort((one, other) => other[1] - one[1])
      .slice(0, 5)
      .map(([name, spentMs]) => ({ name, ms: spentMs }));
  };
}

function firstAfter(times, ms) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
