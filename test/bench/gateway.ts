// What the gateway adds to a request: its CPU time with authentication, admission, credit, recording and metrics on; how much
// later the first byte comes; and what an open stream that nothing happens on takes of memory. The model server is a process of
// its own. Beside it, for comparison, the least that a proxy on node:http and undici can do: machines differ, and from minute to
// minute, by more than is measured here, so the three are asked in turns.
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Agent, type Dispatcher, request } from "undici";
import { writeCatalog } from "../fixtures/catalog.ts";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { median, report, summary } from "./measure.ts";

const REQUESTS = Number(process.env.REQUESTS ?? 20_000);
const CONNECTIONS = 64;
const RATE = 200;
const TURNS = 24;
const TURN_MS = 500;
/** How many chunks a slow stream has more than others, and how far apart. */
const CHUNKS = 200;
const CHUNK_MS = 10;
const SLOW_STREAMS = Number(process.env.SLOW_STREAMS ?? 64 * 6);
const STREAMS = Number(process.env.STREAMS ?? 2_000);
const ROUNDS = 5;
/** Streams that are open at once, each with a prompt of so many words of five bytes, after so many other requests. */
interface OpenStreams {
  readonly earlier: number;
  readonly count: number;
  readonly words: number;
}
const OPEN: Readonly<Record<string, OpenStreams>> = {
  [`of ${STREAMS}, after 2000`]: { earlier: 2_000, count: STREAMS, words: 1 },
  [`of ${STREAMS}, after 20000`]: { earlier: 20_000, count: STREAMS, words: 1 },
  "of 300, with a prompt of 200 KB": { earlier: 2_000, count: 300, words: 40_000 },
};
const MEMORY_ROUNDS = 3;
/** A connection that is closed while it is used again says nothing of anybody's speed. */
const KEEP_ALIVE_MS = 600_000;

const CONTENT = "x".repeat(400);
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "inner", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/**
 * Answers at once; a model named `idle` begins a stream and sends nothing more, and one named `slow` sends {@link CHUNKS} more chunks, each
 * in a packet of its own.
 */
async function serveModels(): Promise<void> {
  const whole = JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "inner",
    choices: [{ index: 0, message: { role: "assistant", content: CONTENT }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 },
  });
  const server = createServer(
    { noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS },
    async (incoming, response) => {
      let text = "";
      for await (const part of incoming.setEncoding("utf8")) text += part;
      const { model, stream } = JSON.parse(text);
      if (stream !== true) return void response.setHeader("content-type", "application/json").end(whole);
      response.setHeader("content-type", "text/event-stream");
      response.write(chunk({ role: "assistant", content: "first" }));
      if (model === "idle") return;
      for (let number = 0; number < 20; number++) response.write(chunk({ content: "word " }));
      for (let number = 0; model === "slow" && number < CHUNKS; number++) {
        await new Promise((resolve) => setTimeout(resolve, CHUNK_MS));
        response.write(chunk({ content: "word " }));
      }
      const usage = { prompt_tokens: 10, completion_tokens: 21, total_tokens: 31 };
      response.end(`${chunk({}, "stop")}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
    },
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send?.((server.address() as AddressInfo).port);
}

if (process.argv[2] === "models") await serveModels();
else await measure();

/** Of a process, in microseconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function residentOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1_024;
}

/** Somebody to ask: an OpenAI-compatible address, and the process behind it. */
interface Asked {
  readonly baseUrl: string;
  readonly pid: number;
  readonly key: string;
  /** What the model is called there. */
  readonly model: (name: string) => string;
}

async function startProgram(file: URL, argument: string): Promise<Asked & Disposable> {
  const child = fork(fileURLToPath(file), [argument], { execArgv: ["--import", "tsx"] });
  const [port] = await once(child, "message");
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const stop = () => void child.kill();
  return { baseUrl, pid: child.pid ?? 0, key: "", model: (name) => name, [Symbol.dispose]: stop };
}

async function startGateway(catalogFile: string): Promise<Asked & AsyncDisposable> {
  const service = await startService({ env: { OSTIARY_CATALOG: catalogFile, OSTIARY_LOG: "error" } });
  const { key } = await signUpWithKey(service.baseUrl);
  return {
    baseUrl: `${service.baseUrl}/v1`,
    pid: service.pid,
    key,
    model: (name) => `acme/${name}`,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

async function measure(): Promise<void> {
  using models = await startProgram(new URL(import.meta.url), "models");
  using bareProxy = await startProgram(
    new URL("peers/bare-proxy.ts", import.meta.url),
    new URL(models.baseUrl).origin,
  );
  await using catalog = await writeCatalog({
    upstreams: {
      main: {
        dialect: "openai",
        baseUrl: models.baseUrl,
        maxConcurrency: 10_000,
        timeouts: { idleMs: 600_000 },
      },
    },
    models: ["inner", "idle", "slow"].map((model) => ({
      id: `acme/${model}`,
      contextTokens: 8_192,
      maxOutputTokens: 100,
      prices: { inputUsdPerMTok: "0.01", outputUsdPerMTok: "0.01" },
      routes: [{ upstream: "main", model }],
    })),
  });
  const agent = new Agent({ connections: 4_000 });
  const ask = async ({ baseUrl, key, model }: Asked, name: string, stream: boolean, content = "hi") => {
    const response = await request(`${baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      dispatcher: agent,
      body: JSON.stringify({ model: model(name), messages: [{ role: "user", content }], stream }),
    });
    // A refusal costs less than what is measured here.
    if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`);
    return response;
  };
  await measureSpeed();
  await measureMemory();
  await agent.destroy();

  async function measureSpeed(): Promise<void> {
    await using gateway = await startGateway(catalog.file);
    for (const stream of [false, true]) {
      await many(gateway, REQUESTS / 2, stream);
      const cpu: Record<"gateway" | "bare proxy", number[]> = { gateway: [], "bare proxy": [] };
      for (let round = 0; round < ROUNDS; round++) {
        cpu.gateway.push(await cpuEach(gateway, REQUESTS / 2, stream));
        cpu["bare proxy"].push(await cpuEach(bareProxy, REQUESTS / 2, stream));
      }
      const what = stream ? "a stream of 22 events" : "a request";
      for (const [who, times] of Object.entries(cpu)) {
        report(`CPU of ${what}, ${CONNECTIONS} connections: ${who}`, "ms", summary(times, 3));
      }
    }
    const ofChunk: Record<"gateway" | "bare proxy", number[]> = { gateway: [], "bare proxy": [] };
    for (let round = 0; round < ROUNDS; round++) {
      for (const [who, asked] of [
        ["gateway", gateway],
        ["bare proxy", bareProxy],
      ] as const) {
        const short = await cpuEach(asked, SLOW_STREAMS, true);
        ofChunk[who].push(((await cpuEach(asked, SLOW_STREAMS, true, "slow")) - short) / CHUNKS);
      }
    }
    for (const [who, times] of Object.entries(ofChunk)) {
      report(
        `CPU of a further chunk, ${CONNECTIONS} streams: ${who}`,
        "µs",
        summary(
          times.map((ms) => ms * 1_000),
          1,
        ),
      );
    }
    const times = { straight: [] as number[], "bare proxy": [] as number[], gateway: [] as number[] };
    for (let turn = 0; turn < TURNS; turn++) {
      times.straight.push(median(await firstBytes(models)));
      times["bare proxy"].push(median(await firstBytes(bareProxy)));
      times.gateway.push(median(await firstBytes(gateway)));
    }
    // What others do on the machine only ever adds: the quietest turns tell most of ours.
    const { straight } = times;
    for (const [who, of] of Object.entries(times)) {
      const later = [Math.min(...of) - Math.min(...straight), median(of) - median(straight)];
      const [quietest, middle] = later.map((ms) => ms.toFixed(2));
      const value = who === "straight" ? summary(of, 2) : `min ${quietest}  median ${middle}  later`;
      report(`first byte at ${RATE}/s, by turns: ${who}`, "ms", value);
    }
  }

  async function many(asked: Asked, count: number, stream: boolean, name = "inner"): Promise<void> {
    let left = count;
    const client = async () => {
      while (left-- > 0) {
        const response = await ask(asked, name, stream);
        await response.body.text();
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
  }

  async function cpuEach(asked: Asked, count: number, stream: boolean, name = "inner"): Promise<number> {
    const before = cpuOf(asked.pid);
    await many(asked, count, stream, name);
    return (cpuOf(asked.pid) - before) / count / 1_000;
  }

  /** Of a turn's streams, how long each took to begin. */
  async function firstBytes(asked: Asked): Promise<readonly number[]> {
    const times: number[] = [];
    const one = async () => {
      const started = performance.now();
      const { body } = await ask(asked, "inner", true);
      let isFirst = true;
      for await (const _ of body) {
        if (isFirst) times.push(performance.now() - started);
        isFirst = false;
      }
    };
    const all: Promise<void>[] = [];
    const begun = performance.now();
    while (performance.now() - begun < TURN_MS) {
      const due = Math.floor(((performance.now() - begun) / 1_000) * RATE);
      while (all.length < due) all.push(one());
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await Promise.all(all);
    return times;
  }

  async function measureMemory(): Promise<void> {
    const startProxy = () =>
      startProgram(new URL("peers/bare-proxy.ts", import.meta.url), new URL(models.baseUrl).origin);
    const services = { gateway: () => startGateway(catalog.file), "bare proxy": startProxy };
    for (const [who, start] of Object.entries(services)) {
      for (const [name, streams] of Object.entries(OPEN)) {
        const rounds: number[] = [];
        while (rounds.length < MEMORY_ROUNDS) rounds.push(await memoryEach(start, streams));
        report(`memory of an open stream, ${name}: ${who}`, "KB", summary(rounds, 1));
      }
    }
  }

  /**
   * What the process grows by for each stream. After few earlier requests its heap has still to grow to what V8 lets it have before it
   * collects, which is counted here; after many, what they have left is used again, which is not.
   */
  async function memoryEach(
    start: () => Promise<Asked & (Disposable | AsyncDisposable)>,
    { earlier, count, words }: OpenStreams,
  ): Promise<number> {
    await using asked = await start();
    await many(asked, earlier, true);
    const before = residentOf(asked.pid);
    const open: Dispatcher.ResponseData["body"][] = [];
    let left = count;
    // All at once would be more than the service can begin in time, and it would refuse some.
    const client = async () => {
      while (left-- > 0) {
        const { body } = await ask(asked, "idle", true, "word ".repeat(words));
        await body[Symbol.asyncIterator]().next();
        open.push(body);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const each = (residentOf(asked.pid) - before) / count / 1_024;
    for (const body of open) body.on("error", () => {}).destroy();
    return each;
  }
}
