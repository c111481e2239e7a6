// What the gateway adds to a request: its CPU time with authentication, admission, credit, recording and metrics on; how much
// later the first byte comes; and what an open stream that nothing happens on takes of memory. The model server is a process of its own.
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { writeCatalog } from "../fixtures/catalog.ts";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { median, report, summary } from "./measure.ts";

const REQUESTS = Number(process.env.REQUESTS ?? 20_000);
const CONNECTIONS = 64;
const RATE = 200;
const RATE_SECONDS = 5;
const STREAMS = Number(process.env.STREAMS ?? 2_000);
const ROUNDS = 3;

const CONTENT = "x".repeat(400);
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "inner", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** Answers at once; a model named `idle` begins a stream and says no more. */
async function serveModels(): Promise<void> {
  const whole = JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "inner",
    choices: [{ index: 0, message: { role: "assistant", content: CONTENT }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 },
  });
  const server = createServer({ noDelay: true }, async (incoming, response) => {
    let text = "";
    for await (const part of incoming.setEncoding("utf8")) text += part;
    const { model, stream } = JSON.parse(text);
    if (stream !== true) return void response.setHeader("content-type", "application/json").end(whole);
    response.setHeader("content-type", "text/event-stream");
    response.write(chunk({ role: "assistant", content: "first" }));
    if (model === "idle") return;
    for (let number = 0; number < 20; number++) response.write(chunk({ content: "word " }));
    const usage = { prompt_tokens: 10, completion_tokens: 21, total_tokens: 31 };
    response.end(`${chunk({}, "stop")}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send?.((server.address() as AddressInfo).port);
}

if (process.argv[2] === "models") {
  await serveModels();
} else {
  await measure();
}

/** Of a process, in microseconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function residentOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1_024;
}

async function measure(): Promise<void> {
  const models = fork(fileURLToPath(import.meta.url), ["models"], { execArgv: ["--import", "tsx"] });
  const [port] = await once(models, "message");
  const upstreamUrl = `http://127.0.0.1:${port}/v1`;
  await using catalog = await writeCatalog({
    upstreams: {
      main: {
        dialect: "openai",
        baseUrl: upstreamUrl,
        maxConcurrency: 10_000,
        timeouts: { idleMs: 600_000 },
      },
    },
    models: ["inner", "idle"].map((model) => ({
      id: `acme/${model}`,
      contextTokens: 8_192,
      maxOutputTokens: 100,
      prices: { inputUsdPerMTok: "0.01", outputUsdPerMTok: "0.01" },
      routes: [{ upstream: "main", model }],
    })),
  });
  await using service = await startService({ env: { OSTIARY_CATALOG: catalog.file, OSTIARY_LOG: "error" } });
  const { key } = await signUpWithKey(service.baseUrl);
  const agent = new Agent({ connections: 4_000 });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = (baseUrl: string, model: string, stream: boolean) =>
    request(`${baseUrl}/chat/completions`, {
      method: "POST",
      headers,
      dispatcher: agent,
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], stream }),
    });
  const gateway = `${service.baseUrl}/v1`;

  const many = async (count: number) => {
    let left = count;
    const client = async () => {
      while (left-- > 0) {
        const response = await ask(gateway, "acme/inner", false);
        if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`);
        await response.body.text();
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
  };
  await many(REQUESTS / 4);
  const cpu: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuOf(service.pid);
    await many(REQUESTS);
    cpu.push((cpuOf(service.pid) - before) / REQUESTS / 1_000);
  }
  report(`CPU a request, ${CONNECTIONS} connections`, "ms", summary(cpu, 3));

  const firstByte = async (baseUrl: string, model: string): Promise<number[]> => {
    const times: number[] = [];
    const one = async () => {
      const started = performance.now();
      const { body } = await ask(baseUrl, model, true);
      let isFirst = true;
      for await (const _ of body) {
        if (isFirst) times.push(performance.now() - started);
        isFirst = false;
      }
    };
    const all: Promise<void>[] = [];
    const begun = performance.now();
    while (performance.now() - begun < RATE_SECONDS * 1_000) {
      const due = Math.floor(((performance.now() - begun) / 1_000) * RATE);
      while (all.length < due) all.push(one().catch(() => {}));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await Promise.all(all);
    return times;
  };
  await firstByte(gateway, "acme/inner");
  const direct = median(await firstByte(upstreamUrl, "inner"));
  const through = median(await firstByte(gateway, "acme/inner"));
  report(
    `first byte at ${RATE}/s: straight, through the gateway`,
    "ms",
    `${direct.toFixed(2)}, ${through.toFixed(2)}`,
  );

  const before = residentOf(service.pid);
  const open = await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      const { body } = await ask(gateway, "acme/idle", true);
      const reader = body[Symbol.asyncIterator]();
      await reader.next();
      return body;
    }),
  );
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const each = (residentOf(service.pid) - before) / STREAMS / 1_024;
  report(`memory of an open stream, of ${STREAMS}`, "KB", each.toFixed(1));
  for (const body of open) body.on("error", () => {}).destroy();
  await agent.destroy();
  models.kill();
}
