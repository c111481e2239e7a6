// A handler of Hono that passes an answer on to the browser while it arrives, without showing the browser the key. When the browser leaves,
// the request to the model ends. Start it with `@hono/node-server`, `deno serve` or Bun.
import { Hono } from "hono";
import Ostiary, { APIError, type ChatCompletionMessageParam } from "ostiary";

const client = new Ostiary();
const app = new Hono();

app.post("/chat", async (context) => {
  const { messages } = await context.req.json<{ messages: ChatCompletionMessageParam[] }>();
  const { signal } = context.req.raw;
  const stream = await client.chat.completions.create(
    { model: "sandbox/echo", messages, stream: true },
    { signal },
  );
  // One chunk per line, as JSON.
  return context.body(stream.toReadableStream(), 200, { "content-type": "application/x-ndjson" });
});

app.onError((error, context) => {
  if (!(error instanceof APIError))
    return context.json({ message: "The service could not be reached." }, 502);
  return context.json({ message: error.message, code: error.code }, error.status === 429 ? 429 : 502);
});

export default app;
