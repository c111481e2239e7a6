import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { readChat, streamChat, wholeChat } from "./chat.ts";
import { readMessages, streamMessage, wholeMessage } from "./messages.ts";
import { readResponses, streamResponse, wholeResponse } from "./responses.ts";
import { type Asked, type Script, scriptFor } from "./script.ts";
import { type Body, type Frame, record } from "./wire.ts";

interface Format {
  readonly read: (body: Body) => Asked;
  readonly whole: (script: Script) => object;
  readonly stream: (script: Script) => Iterable<Frame>;
}

const FORMATS: Readonly<Record<string, Format>> = {
  "/chat/v1/chat/completions": { read: readChat, whole: wholeChat, stream: streamChat },
  "/responses/v1/responses": { read: readResponses, whole: wholeResponse, stream: streamResponse },
  "/messages/v1/messages": { read: readMessages, whole: wholeMessage, stream: streamMessage },
};

export interface Received {
  readonly path: string;
  readonly body: Body;
}

export interface Stub {
  /** Scheme, host and port. The three upstreams are at `/chat/v1`, `/responses/v1` and `/messages/v1`. */
  readonly url: string;
  /** What it was sent, the latest last. */
  readonly received: Received[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts three upstreams that speak one format each, and answer by {@link scriptFor}. */
export async function startStub(port = 0): Promise<Stub> {
  const received: Received[] = [];
  const server = createServer((request, response) => void answer(request, response, received));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${bound}`,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  received: Received[],
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  const body = record(JSON.parse(Buffer.concat(chunks).toString() || "{}"));
  received.push({ path, body });
  const format = FORMATS[path];
  if (format === undefined) return void response.writeHead(404).end("{}");
  const script = scriptFor(format.read(body));
  if (script.status !== undefined) {
    const message = script.status === 429 ? "Slow down." : "messages: the stub takes this for wrong";
    const error = { type: "invalid_request_error", message, code: null, param: null };
    response.writeHead(script.status, { "content-type": "application/json", "retry-after": "1" });
    return void response.end(JSON.stringify({ type: "error", error }));
  }
  if (body.stream !== true) {
    response.writeHead(200, { "content-type": "application/json" });
    if (script.isCut === true) return void response.write("{", () => response.destroy());
    return void response.end(JSON.stringify(format.whole(script)));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const frames = [...format.stream(script)];
  const sent = script.isCut === true ? frames.slice(0, -3) : frames;
  for (const frame of sent) {
    response.write(frame);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (script.isCut === true) response.destroy();
  else response.end();
}
