// What a second worker brings: CPU of a request with one process and with two workers, and how many requests they answer. Load and
// model server are processes of their own, and PostgreSQL and Redis are those of OSTIARY_TEST_DATABASE_URL and
// OSTIARY_TEST_REDIS_URL; on a machine with few cores all of them take what the workers could use, and a process that must wait for
// its turn, with caches that others have used, takes more CPU time for the same work. So two processes that share nothing, each with a
// database of its own, do the same under the same load: what workers cost is what they need more than these. The speed-up is what the
// CPU times allow where nothing else takes the cores: the busiest worker is what limits it.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { writeCatalog } from "../fixtures/catalog.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { workersOf } from "../fixtures/workers.ts";
import { report, summary } from "./measure.ts";

/** For each process of the service: what several requests share, such as a write to the journal, is shared by as many. */
const CONNECTIONS = 64;
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const ROUND_MS = Number(process.env.ROUND_MS ?? 4_000);
/** Requests that each process answers before it is measured, until its code is compiled. */
const WARM_UP = Number(process.env.WARM_UP ?? 15_000);
/** The kernel counts CPU time in these. */
const TICK_MS = 10;

/** A request for load: on which services, for how long. */
interface Load {
  readonly targets: readonly Target[];
  readonly ms: number;
}

interface Target {
  readonly baseUrl: string;
  readonly key: string;
  readonly connections: number;
}

const [, , role] = process.argv;
if (role === "models") await serveModels();
else if (role === "load") process.on("message", (load: Load) => void generate(load));
else if (process.env.OSTIARY_TEST_DATABASE_URL && process.env.OSTIARY_TEST_REDIS_URL) await measure();
else console.log("skipped: it needs OSTIARY_TEST_DATABASE_URL and OSTIARY_TEST_REDIS_URL");

async function serveModels(): Promise<void> {
  const whole = JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "inner",
    choices: [{ index: 0, message: { role: "assistant", content: "x".repeat(400) }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 },
  });
  const server = createServer({ noDelay: true, keepAliveTimeout: 600_000 }, (incoming, response) => {
    incoming.resume().on("end", () => response.setHeader("content-type", "application/json").end(whole));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send?.((server.address() as AddressInfo).port);
}

/** Sends a request on each connection as soon as the one before is answered. Tells how many were. */
async function generate({ targets, ms }: Load): Promise<void> {
  const endMs = performance.now() + ms;
  const answered = await Promise.all(targets.map((target) => generateOn(target, endMs)));
  process.send?.(answered.reduce((sum, count) => sum + count, 0));
}

async function generateOn({ baseUrl, key, connections }: Target, endMs: number): Promise<number> {
  const agent = new Agent({ connections });
  let answered = 0;
  const client = async () => {
    while (performance.now() < endMs) {
      const response = await request(`${baseUrl}/v1/chat/completions`, {
        method: "POST",
        dispatcher: agent,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/inner", messages: [{ role: "user", content: "hi" }] }),
      });
      await response.body.text();
      if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`);
      answered++;
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  await agent.close();
  return answered;
}

function startHere(as: string): ChildProcess {
  return fork(fileURLToPath(import.meta.url), [as], { execArgv: ["--import", "tsx"] });
}

/** CPU time of a process since its start, in milliseconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

interface Round {
  readonly answered: number;
  /** CPU of all processes of the service for one request, in milliseconds. */
  readonly cpuMs: number;
  /** CPU of the busiest process for one request of the whole service. */
  readonly busiestMs: number;
}

async function measure(): Promise<void> {
  const models = startHere("models");
  const load = startHere("load");
  const [port] = await once(models, "message");
  await using catalog = await writeCatalog({
    upstreams: {
      main: { dialect: "openai", baseUrl: `http://127.0.0.1:${port}/v1`, maxConcurrency: 10_000 },
    },
    models: [
      {
        id: "acme/inner",
        contextTokens: 8_192,
        maxOutputTokens: 100,
        prices: { inputUsdPerMTok: "0.01", outputUsdPerMTok: "0.01" },
        routes: [{ upstream: "main", model: "inner" }],
      },
    ],
  });
  const env = { OSTIARY_CATALOG: catalog.file, OSTIARY_LOG: "error" };
  await using one = await startService({ env });
  await using other = await startService({ env });
  await using workers = await startService({ env: { ...env, OSTIARY_WORKERS: "2" } });
  const [alone, beside, shared] = await Promise.all(
    [one, other, workers].map(async (service) => ({
      service,
      key: (await signUpWithKey(service.baseUrl)).key,
    })),
  );
  if (alone === undefined || beside === undefined || shared === undefined) return;
  const contestants: readonly Contestant[] = [
    { name: "one process", measured: [alone], rounds: [] },
    { name: "two processes that share nothing", measured: [alone, beside], rounds: [] },
    { name: "two workers", measured: [shared], rounds: [] },
  ];
  for (const { measured } of contestants) {
    let left = WARM_UP * 2;
    while (left > 0) left -= (await measureRound(load, measured)).answered;
  }
  // In turns, because other work on the machine moves the numbers.
  for (let round = 0; round < ROUNDS; round++) {
    for (const { measured, rounds } of contestants) rounds.push(await measureRound(load, measured));
  }
  models.kill();
  load.kill();
  for (const { name, rounds } of contestants) {
    const cpus = rounds.map(({ cpuMs }) => cpuMs);
    const rates = rounds.map(({ answered }) => answered / (ROUND_MS / 1_000));
    report(`CPU of a request: ${name}`, "ms", summary(cpus, 3));
    report(`answered: ${name}`, "1/s", summary(rates, 0));
  }
  const [single, separate, double] = contestants.map(({ rounds }) => rounds);
  const ratios = (those: readonly Round[] = [], of: (those: Round, workers: Round) => number) =>
    summary(
      (double ?? []).flatMap((round, index) => (those[index] === undefined ? [] : [of(those[index], round)])),
      2,
    );
  const cpu = (those: Round, workers: Round) => workers.cpuMs / those.cpuMs;
  const answered = (those: Round, workers: Round) => workers.answered / those.answered;
  const free = (those: Round, workers: Round) => those.busiestMs / workers.busiestMs;
  report(
    "CPU of a request, two workers to two that share nothing (at most 1.05)",
    "×",
    ratios(separate, cpu),
  );
  report("CPU of a request, two workers to one process on this machine", "×", ratios(single, cpu));
  report("answered, two workers to two that share nothing", "×", ratios(separate, answered));
  report("answered, two workers to one process on this machine", "×", ratios(single, answered));
  report("speed-up where cores are free", "×", ratios(single, free));
}

/** A service that is measured, and a key for it. */
interface Measured {
  readonly service: Service;
  readonly key: string;
}

/** What is measured: services that have load at the same time. */
interface Contestant {
  readonly name: string;
  readonly measured: readonly Measured[];
  readonly rounds: Round[];
}

async function measureRound(load: ChildProcess, measured: readonly Measured[]): Promise<Round> {
  const processes = await Promise.all(
    measured.map(async ({ service }) => [service.pid, ...(await workersOf(service.pid)).values()]),
  );
  const pids = processes.flat();
  const before = pids.map(cpuOf);
  const targets = measured.map(({ service, key }, index) => ({
    baseUrl: service.baseUrl,
    key,
    // A service of several workers has a process more, which serves nothing.
    connections: CONNECTIONS * Math.max(1, (processes[index]?.length ?? 1) - 1),
  }));
  load.send({ targets, ms: ROUND_MS } satisfies Load);
  const [answered] = (await once(load, "message")) as [number];
  const spent = pids.map((pid, index) => cpuOf(pid) - (before[index] ?? 0));
  const total = spent.reduce((sum, ms) => sum + ms, 0);
  return { answered, cpuMs: total / answered, busiestMs: Math.max(...spent) / answered };
}
