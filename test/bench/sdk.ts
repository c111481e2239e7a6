// What the SDK costs: its import, a call beside one with undici alone, and the memory of a stream of TOKENS tokens.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { transformSync } from "esbuild";
import { request } from "undici";
import Ostiary from "../../sdk/dist/index.js";
import { cpuMicroseconds, median, report, summary } from "./measure.ts";

const TOKENS = Number(process.env.TOKENS ?? 10_000_000);
const TOKENS_OF_CHUNK = 100;
const CALLS = 3_000;
const ROUNDS = 5;
const BUNDLE = fileURLToPath(new URL("../../sdk/dist/index.js", import.meta.url));

const answer = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "x".repeat(400) }, finish_reason: "stop" }],
});
const piece = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
const chunk = piece("word ".repeat(TOKENS_OF_CHUNK));

const server = createServer(async (incoming, response) => {
  let text = "";
  for await (const part of incoming.setEncoding("utf8")) text += part;
  if (!text.includes('"stream":true')) {
    response.setHeader("content-type", "application/json").end(answer);
    return;
  }
  response.setHeader("content-type", "text/event-stream");
  for (let sent = 0; sent < TOKENS; sent += TOKENS_OF_CHUNK) {
    if (!response.write(chunk)) await once(response, "drain");
  }
  response.end(`${piece("", "stop")}data: [DONE]\n\n`);
}).listen(0, "127.0.0.1");
await once(server, "listening");
const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const size = gzipSync(transformSync(readFileSync(BUNDLE, "utf8"), { minify: true }).code, {
  level: 9,
}).length;
report("the bundle, minified and gzipped", "KB", (size / 1_024).toFixed(1));

const script = `const t = performance.now(); await import(${JSON.stringify(BUNDLE)}); process.stdout.write(String(performance.now() - t));`;
const imports = Array.from({ length: ROUNDS }, () =>
  Number(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })),
);
report("its import", "ms", summary(imports, 1));

const client = new Ostiary({ apiKey: "sk-x", baseURL });
const body = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const byClient = async () => {
  for (let call = 0; call < CALLS; call++) await client.chat.completions.create(body);
};
const byFetch = async () => {
  for (let call = 0; call < CALLS; call++) {
    const response = await fetch(`${baseURL}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer sk-x" },
      body: JSON.stringify(body),
    });
    JSON.parse(await response.text());
  }
};
const byUndici = async () => {
  for (let call = 0; call < CALLS; call++) {
    const response = await request(`${baseURL}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer sk-x" },
      body: JSON.stringify(body),
    });
    JSON.parse(await response.body.text());
  }
};
const ways = { "the client": byClient, "fetch alone": byFetch, "undici alone": byUndici };
for (const way of Object.values(ways)) await way();
for (const [name, way] of Object.entries(ways)) {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await cpuMicroseconds(CALLS, way));
  report(`CPU of a call and its server, by ${name}`, "µs", `median ${median(times).toFixed(0)}`);
}

globalThis.gc?.();
const before = process.memoryUsage().heapUsed;
let most = 0;
let characters = 0;
const stream = await client.chat.completions.create({ ...body, stream: true });
let seen = 0;
for await (const part of stream) {
  characters += part.choices[0]?.delta.content?.length ?? 0;
  if (++seen % 5_000 !== 0) continue;
  globalThis.gc?.();
  most = Math.max(most, process.memoryUsage().heapUsed - before);
}
report(
  `a stream of ${TOKENS} tokens (${Math.round(characters / 1e6)} MB): most heap beside`,
  "MB",
  (most / 1e6).toFixed(1),
);
server.close();
