import { once } from "node:events";
import { request, WebSocket } from "undici";
import { expect, it, vi } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { chunkOf, startModelServer } from "../fixtures/model-server.ts";
import { RUNTIME, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

/** Together their prompts are much larger than whatever else changes on the heap. */
const STREAMS = 20;
const PROMPT = "word ".repeat(100_000);
/** Requests that wait for their model. */
const WAITING = 10;

/** An answer whose tokens the upstream does not tell. */
const UNCOUNTED = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
});

/** The memory of a process that listens for an inspector, after a collection. */
interface Memory extends Disposable {
  /** Bytes on V8's heap. */
  heap(): Promise<number>;
  /** Bytes of buffers, which are outside of the heap. */
  buffers(): Promise<number>;
}

async function openMemory(stderr: string): Promise<Memory> {
  const socket = new WebSocket(/ws:\S+/.exec(stderr)?.[0] ?? "");
  await once(socket, "open");
  let last = 0;
  const call = (method: string, params: object = {}) =>
    new Promise<{ readonly usedSize: number; readonly result: { readonly value: number } }>((resolve) => {
      const id = ++last;
      const answered = ({ data }: { readonly data: unknown }) => {
        const message = JSON.parse(String(data));
        if (message.id !== id) return;
        socket.removeEventListener("message", answered);
        resolve(message.result);
      };
      socket.addEventListener("message", answered);
      socket.send(JSON.stringify({ id, method, params }));
    });
  // What only a finished collection lets go, such as what waits for a finalizer, goes with the next one.
  const collect = async () => {
    for (let count = 0; count < 3; count++) await call("HeapProfiler.collectGarbage");
  };
  return {
    heap: async () => {
      await collect();
      return (await call("Runtime.getHeapUsage")).usedSize;
    },
    buffers: async () => {
      await collect();
      const { result } = await call("Runtime.evaluate", { expression: "process.memoryUsage().arrayBuffers" });
      return result.value;
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
  using memory = await openMemory(service.stderr());
  for (const [path, bodyOf] of Object.entries(REQUESTS)) {
    // What is loaded for the first request stays, as the tokenizer does, which takes 70 MB.
    await (await ask(path, bodyOf("hi"))).text();
    const before = { heap: await memory.heap(), buffers: await memory.buffers() };
    const open: Awaited<ReturnType<typeof ask>>[] = [];
    while (open.length < STREAMS) {
      const body = await ask(path, { ...bodyOf(PROMPT), stream: true });
      await once(body, "readable");
      open.push(body);
    }
    const heap = ((await memory.heap()) - before.heap) / STREAMS / PROMPT.length;
    const buffers = ((await memory.buffers()) - before.buffers) / STREAMS / PROMPT.length;
    for (const body of open) body.on("error", () => {}).destroy();
    expect(heap, path).toBeLessThan(1.5);
    expect(buffers, path).toBeLessThan(0.5);
    // The next ones are measured without what is left of these.
    await expect.poll(memory.heap).toBeLessThan(before.heap + STREAMS * PROMPT.length * 0.3);
  }
});

it.skipIf(RUNTIME !== "node")(
  "a request that waits for its model keeps its body as text and values, and not as bytes",
  async () => {
    let isWarm = false;
    let waiting = 0;
    await using upstream = await startModelServer(({ response }) => {
      if (!isWarm) return void response.end(UNCOUNTED);
      waiting++;
    });
    await using catalog = await writeCatalog({
      upstreams: { main: { dialect: "openai", baseUrl: upstream.baseUrl, maxConcurrency: WAITING } },
      models: [{ id: "acme/chat", contextTokens: 1_000_000, routes: [{ upstream: "main", model: "inner" }] }],
    });
    await using service = await startService({
      env: { OSTIARY_CATALOG: catalog.file },
      command: [process.execPath, "--inspect=127.0.0.1:0", "server/dist/main.js"],
    });
    const { key } = await signUpWithKey(service.baseUrl);
    const left = new AbortController();
    const ask = async (content: string) =>
      request(`${service.baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/chat", messages: [{ role: "user", content }] }),
        signal: left.signal,
      });
    await (await ask("hi")).body.text();
    isWarm = true;
    using memory = await openMemory(service.stderr());
    const before = { buffers: await memory.buffers(), heap: await memory.heap() };
    const asked = Array.from({ length: WAITING }, () => ask(PROMPT).catch(() => null));
    await vi.waitFor(() => expect(waiting).toBe(WAITING), 10_000);
    const buffers = ((await memory.buffers()) - before.buffers) / WAITING / PROMPT.length;
    const heap = ((await memory.heap()) - before.heap) / WAITING / PROMPT.length;
    left.abort();
    await Promise.all(asked);
    expect(buffers).toBeLessThan(0.5);
    expect(heap).toBeLessThan(2.5);
  },
);
