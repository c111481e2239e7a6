// What a second worker brings: CPU of a request with one process and with two workers, and how many requests they answer. Load and
// model server are processes of their own, and PostgreSQL and Redis are those of OSTIARY_TEST_DATABASE_URL and
// OSTIARY_TEST_REDIS_URL; on a machine with few cores all of them take what the workers could use. So beside what was answered the
// speed-up is told that the CPU times allow where nothing else takes the cores: the busiest worker is what limits it.
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

/** A request for load: which service, with which key, for how long. */
interface Load {
  readonly baseUrl: string;
  readonly key: string;
  readonly connections: number;
  readonly ms: number;
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
async function generate({ baseUrl, key, connections, ms }: Load): Promise<void> {
  const agent = new Agent({ connections });
  const endMs = performance.now() + ms;
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
  process.send?.(answered);
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
  await using two = await startService({ env: { ...env, OSTIARY_WORKERS: "2" } });
  const services = [
    { service: one, key: (await signUpWithKey(one.baseUrl)).key, rounds: [] as Round[] },
    { service: two, key: (await signUpWithKey(two.baseUrl)).key, rounds: [] as Round[] },
  ];
  for (const [index, { service, key }] of services.entries()) {
    let left = WARM_UP * (index + 1);
    while (left > 0) left -= (await measureRound(load, service, key)).answered;
  }
  // In turns, because other work on the machine moves the numbers.
  for (let round = 0; round < ROUNDS; round++) {
    for (const { service, key, rounds } of services) rounds.push(await measureRound(load, service, key));
  }
  models.kill();
  load.kill();
  const [single, double] = services.map(({ rounds }) => rounds);
  if (single === undefined || double === undefined) return;
  for (const [who, rounds] of Object.entries({ "one process": single, "two workers": double })) {
    report(
      `CPU of a request: ${who}`,
      "ms",
      summary(
        rounds.map(({ cpuMs }) => cpuMs),
        3,
      ),
    );
    report(
      `answered: ${who}`,
      "1/s",
      summary(
        rounds.map(({ answered }) => answered / (ROUND_MS / 1_000)),
        0,
      ),
    );
  }
  const ratios = (of: (one: Round, two: Round) => number) =>
    summary(
      double.flatMap((two, index) => (single[index] === undefined ? [] : [of(single[index], two)])),
      2,
    );
  report(
    "CPU of a request, two workers to one process",
    "×",
    ratios((a, b) => b.cpuMs / a.cpuMs),
  );
  report(
    "answered, two workers to one process, on this machine",
    "×",
    ratios((a, b) => b.answered / a.answered),
  );
  report(
    "speed-up where cores are free (at least 1.7)",
    "×",
    ratios((a, b) => a.busiestMs / b.busiestMs),
  );
}

async function measureRound(load: ChildProcess, service: Service, key: string): Promise<Round> {
  const workers = await workersOf(service.pid);
  const pids = [service.pid, ...workers.values()];
  const before = pids.map(cpuOf);
  const connections = CONNECTIONS * Math.max(1, workers.size);
  load.send({ baseUrl: service.baseUrl, key, connections, ms: ROUND_MS } satisfies Load);
  const [answered] = (await once(load, "message")) as [number];
  const spent = pids.map((pid, index) => cpuOf(pid) - (before[index] ?? 0));
  const total = spent.reduce((sum, ms) => sum + ms, 0);
  return { answered, cpuMs: total / answered, busiestMs: Math.max(...spent) / answered };
}
