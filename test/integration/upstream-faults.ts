import type { ReceivedRequest } from "../fixtures/model-server.ts";

export type Answer = (request: ReceivedRequest) => void;

/** Answers with an error of this status. */
export const failing =
  (status: number): Answer =>
  ({ response }) =>
    void response.writeHead(status, { "content-type": "application/json" }).end("{}");

/** Ways in which an upstream fails before anything has reached the client, by what the upstream does. */
export const upstreamFaults: Record<string, Answer> = {
  "answers 500": failing(500),
  "answers 503": failing(503),
  "answers 429": failing(429),
  "refuses our credential": failing(401),
  "has no such model": failing(404),
  redirects: ({ response }) => void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
  hangs: () => {},
  "breaks off": ({ response }) => void response.destroy(),
  "answers nonsense": ({ response }) => void response.end("<html>"),
  "answers a malformed chunk": ({ response }) =>
    void response.setHeader("content-type", "text/event-stream").end("data: {nonsense\n\n"),
  "ends a stream that never began": ({ response }) =>
    void response.setHeader("content-type", "text/event-stream").end(),
  "answers far too much": ({ response }) => {
    response.setHeader("content-type", "application/json");
    const megabyte = Buffer.alloc(1024 * 1024, "x");
    const write = (left: number) => {
      if (left > 0 && !response.destroyed) response.write(megabyte, () => write(left - 1));
      else response.end();
    };
    write(66);
  },
  "begins a stream with an event without end": ({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    const megabyte = Buffer.alloc(1024 * 1024, "x");
    const write = (left: number) => {
      if (left > 0 && !response.destroyed) response.write(megabyte, () => write(left - 1));
    };
    response.write("data: ", () => write(20));
  },
  "stalls before the first chunk": ({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    response.flushHeaders();
  },
};
