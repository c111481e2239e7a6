// What a request of each format costs for each format of its upstream, in turns in one run: a request of the upstream's own format is
// forwarded, any other one is translated. The upstream is a process of its own that answers at once, with the stub of `test/clients`.
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { streamChat, wholeChat } from "../clients/stub/chat.ts";
import { streamMessage, wholeMessage } from "../clients/stub/messages.ts";
import { streamResponse, wholeResponse } from "../clients/stub/responses.ts";
import type { Script } from "../clients/stub/script.ts";
import { writeCatalog } from "../fixtures/catalog.ts";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { median, report, summary } from "./measure.ts";

const REQUESTS = Number(process.env.REQUESTS ?? 2_000);
const ROUNDS = Number(process.env.ROUNDS ?? 7);
const CONNECTIONS = 16;
const WORDS = 40;

const FORMATS = ["chat", "responses", "messages"] as const;
type Format = (typeof FORMATS)[number];
/** Google's format is one of upstreams alone. */
const UPSTREAMS = [...FORMATS, "google"] as const;
type UpstreamFormat = (typeof UPSTREAMS)[number];

const PATHS: Readonly<Record<Format, string>> = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
};
const DIALECTS: Readonly<Record<UpstreamFormat, string>> = {
  chat: "openai",
  responses: "openai-responses",
  messages: "anthropic",
  google: "google",
};

async function serveModels(): Promise<void> {
  const script: Script = {
    pieces: Array.from({ length: WORDS }, (_, index) => ({ text: `word ${index} ` })),
    finish: "stop",
  };
  const whole: Readonly<Record<UpstreamFormat, string>> = {
    chat: JSON.stringify(wholeChat(script)),
    responses: JSON.stringify(wholeResponse(script)),
    messages: JSON.stringify(wholeMessage(script)),
    google: JSON.stringify(googleAnswer(script.pieces.map(textOf).join(""), "STOP")),
  };
  const googleStream = script.pieces.map((piece, index) =>
    googleAnswer(textOf(piece), index === script.pieces.length - 1 ? "STOP" : undefined),
  );
  const streamed: Readonly<Record<UpstreamFormat, string>> = {
    chat: [...streamChat(script)].join(""),
    responses: [...streamResponse(script)].join(""),
    messages: [...streamMessage(script)].join(""),
    google: googleStream.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
  };
  const server = createServer({ noDelay: true, keepAliveTimeout: 600_000 }, async (incoming, response) => {
    let text = "";
    for await (const part of incoming.setEncoding("utf8")) text += part;
    const url = incoming.url ?? "";
    const format = UPSTREAMS.find((name) => url.startsWith(`/${name}/`)) ?? "chat";
    const isStream = JSON.parse(text).stream === true || url.includes("streamGenerateContent");
    response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
    response.end(isStream ? streamed[format] : whole[format]);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  process.send?.((server.address() as AddressInfo).port);
}

function textOf(piece: Script["pieces"][number]): string {
  return "text" in piece ? piece.text : "";
}

function googleAnswer(text: string, finishReason?: string): object {
  return {
    candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, finishReason }],
    usageMetadata: {
      promptTokenCount: 10,
      candidatesTokenCount: WORDS,
      totalTokenCount: 10 + WORDS,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 10 }],
    },
    modelVersion: "inner",
    responseId: "q8ZxaLr2",
  };
}

if (process.argv[2] === "models") await serveModels();
else await measure();

/** Of a process, in microseconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function bodyOf(format: Format, model: string, stream: boolean): string {
  const messages = [{ role: "user", content: "hi" }];
  switch (format) {
    case "chat":
      return JSON.stringify({ model, messages, stream });
    case "responses":
      // Storing a response is a write of the database, which is measured apart.
      return JSON.stringify({ model, input: "hi", stream, store: false });
    case "messages":
      return JSON.stringify({ model, max_tokens: 100, messages, stream });
  }
}

async function measure(): Promise<void> {
  const models = fork(fileURLToPath(import.meta.url), ["models"], { execArgv: ["--import", "tsx"] });
  const [port] = await once(models, "message");
  await using catalog = await writeCatalog({
    upstreams: Object.fromEntries(
      UPSTREAMS.map((format) => [
        format,
        {
          dialect: DIALECTS[format],
          baseUrl: `http://127.0.0.1:${port}/${format}/v1`,
          maxConcurrency: 10_000,
        },
      ]),
    ),
    models: UPSTREAMS.map((format) => ({
      id: `acme/${format}`,
      routes: [{ upstream: format, model: "inner" }],
    })),
  });
  const service = await startService({ env: { OSTIARY_CATALOG: catalog.file, OSTIARY_LOG: "error" } });
  const { key } = await signUpWithKey(service.baseUrl);
  const agent = new Agent({ connections: CONNECTIONS });

  const many = async (format: Format, model: string, stream: boolean, count: number) => {
    const body = bodyOf(format, model, stream);
    let left = count;
    const client = async () => {
      while (left-- > 0) {
        const answer = await request(`${service.baseUrl}${PATHS[format]}`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          dispatcher: agent,
          body,
        });
        if (answer.statusCode !== 200) throw new Error(`${format} to ${model}: ${await answer.body.text()}`);
        await answer.body.text();
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
  };

  const cpuEach = async (format: Format, upstream: string, stream: boolean) => {
    const before = cpuOf(service.pid);
    await many(format, `acme/${upstream}`, stream, REQUESTS);
    return (cpuOf(service.pid) - before) / REQUESTS / 1_000;
  };
  for (const stream of [false, true]) {
    const what = stream ? `a stream of ${WORDS} words` : "a request";
    const pairs = FORMATS.flatMap((format) => UPSTREAMS.map((upstream) => ({ format, upstream })));
    const figures = new Map(pairs.map((pair) => [pair, { times: [] as number[], ratios: [] as number[] }]));
    for (let round = -1; round < ROUNDS; round++) {
      for (const [{ format, upstream }, { times, ratios }] of figures) {
        // Other work on the machine changes from minute to minute, so each is compared with what was measured just before.
        const chat = await cpuEach("chat", "chat", stream);
        const time = await cpuEach(format, upstream, stream);
        // The first round warms up.
        if (round < 0) continue;
        times.push(time);
        ratios.push(time / chat);
      }
    }
    for (const [{ format, upstream }, { times, ratios }] of figures) {
      const how = format === upstream ? "forwarded" : "translated";
      const compared = `${median(ratios).toFixed(2)} of chat forwarded`;
      report(`CPU of ${what}: ${format} to ${upstream}, ${how}`, "ms", `${summary(times, 3)}  ${compared}`);
    }
  }
  await agent.destroy();
  await service[Symbol.asyncDispose]();
  models.kill();
}
