import { expect, it } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { chunkOf, startModelServer } from "../fixtures/model-server.ts";
import { openRaw } from "../fixtures/raw-http.ts";
import { RUNTIME, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

// Deno still begins the one that has arrived when its client leaves.
it.skipIf(RUNTIME === "deno")(
  "Streams that a client asks for at once are begun one after the other, and not any more when it leaves",
  async () => {
    await using upstream = await startModelServer(({ response }) => {
      response.setHeader("content-type", "text/event-stream").write(chunkOf({ content: "and on" }));
    });
    await using catalog = await writeCatalog({
      upstreams: { main: { dialect: "openai", baseUrl: upstream.baseUrl } },
      models: [{ id: "acme/chat", routes: [{ upstream: "main", model: "inner" }] }],
    });
    await using service = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
    const { key, trpc } = await signUpWithKey(service.baseUrl);
    const body = JSON.stringify({
      model: "acme/chat",
      stream: true,
      messages: [{ role: "user", content: "hi" }],
    });
    const head = [
      "POST /v1/chat/completions HTTP/1.1",
      "host: x",
      `authorization: Bearer ${key}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
    ];
    {
      using client = await openRaw(service.baseUrl);
      client.send(`${head.join("\r\n")}\r\n\r\n${body}`.repeat(3));
      await expect.poll(() => upstream.received.length).toBe(1);
      // The second one begins when the first one has ended.
      upstream.received[0]?.response.end(`${chunkOf({}, "stop")}data: [DONE]\n\n`);
      await expect.poll(() => upstream.received.length).toBe(2);
    }
    await Promise.all(upstream.received.map(({ dropped }) => dropped));
    const ends = async () => (await trpc.audit.list.query()).entries.map(({ endReason }) => endReason);
    await expect.poll(ends).toEqual(["client_gone", "stop"]);
    expect(upstream.received.length).toBe(2);
  },
);
