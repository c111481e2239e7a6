import { once } from "node:events";
import { request, WebSocket } from "undici";
import { expect, it } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { chunkOf, startModelServer } from "../fixtures/model-server.ts";
import { RUNTIME, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

/** Together their prompts are much larger than whatever else changes on the heap. */
const STREAMS = 20;
const PROMPT = "word ".repeat(100_000);

/** An answer whose tokens the upstream does not tell. */
const UNCOUNTED = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
});

/** The heap of a process that listens for an inspector. */
async function openHeap(stderr: string): Promise<{ used(): Promise<number> } & Disposable> {
  const socket = new WebSocket(/ws:\S+/.exec(stderr)?.[0] ?? "");
  await once(socket, "open");
  let last = 0;
  const call = (method: string) =>
    new Promise<{ readonly usedSize: number }>((resolve) => {
      const id = ++last;
      const answered = ({ data }: { readonly data: unknown }) => {
        const message = JSON.parse(String(data));
        if (message.id !== id) return;
        socket.removeEventListener("message", answered);
        resolve(message.result);
      };
      socket.addEventListener("message", answered);
      socket.send(JSON.stringify({ id, method }));
    });
  return {
    // What only a finished collection lets go, such as what waits for a finalizer, goes with the next one.
    used: async () => {
      for (let count = 0; count < 3; count++) await call("HeapProfiler.collectGarbage");
      return (await call("Runtime.getHeapUsage")).usedSize;
    },
    [Symbol.dispose]: () => socket.close(),
  };
}

/** A request of each wire with a prompt. */
const REQUESTS = {
  "chat/completions": (content: string) => ({ messages: [{ role: "user", content }] }),
  messages: (content: string) => ({ messages: [{ role: "user", content }], max_tokens: 100 }),
  responses: (input: string) => ({ input, store: false }),
};

it.skipIf(RUNTIME !== "node")("a stream that is open keeps its prompt once in memory", async () => {
  await using upstream = await startModelServer(({ body, response }) => {
    if (body.stream !== true) return void response.end(UNCOUNTED);
    response.setHeader("content-type", "text/event-stream").write(chunkOf({ content: "first" }));
  });
  await using catalog = await writeCatalog({
    upstreams: { main: { dialect: "openai", baseUrl: upstream.baseUrl } },
    models: [{ id: "acme/chat", contextTokens: 1_000_000, routes: [{ upstream: "main", model: "inner" }] }],
  });
  await using service = await startService({
    env: { OSTIARY_CATALOG: catalog.file },
    command: [process.execPath, "--inspect=127.0.0.1:0", "server/dist/main.js"],
  });
  const { key } = await signUpWithKey(service.baseUrl);
  const ask = async (path: string, asked: object) => {
    const { statusCode, body } = await request(`${service.baseUrl}/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/chat", ...asked }),
    });
    expect(statusCode, path).toBe(200);
    return body;
  };
  using heap = await openHeap(service.stderr());
  for (const [path, bodyOf] of Object.entries(REQUESTS)) {
    // What is loaded for the first request stays, as the tokenizer does, which takes 70 MB.
    await (await ask(path, bodyOf("hi"))).text();
    const before = await heap.used();
    const open: Awaited<ReturnType<typeof ask>>[] = [];
    while (open.length < STREAMS) {
      const body = await ask(path, { ...bodyOf(PROMPT), stream: true });
      await once(body, "readable");
      open.push(body);
    }
    const kept = ((await heap.used()) - before) / STREAMS / PROMPT.length;
    for (const body of open) body.on("error", () => {}).destroy();
    expect(kept, path).toBeLessThan(1.5);
  }
});
