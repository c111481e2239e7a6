import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { statusOf } from "../fixtures/request.ts";
import { logLines, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

interface Span {
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

/** The values of attributes, by their names. */
function valuesOf(of: Pick<Span, "attributes"> | undefined): Record<string, unknown> {
  return Object.fromEntries((of?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** A receiver of traces. */
async function startCollector(answer: RequestListener): Promise<Disposable & { readonly url: string }> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

it("traces of requests are sent by OTLP, part of the client's trace, without keys, prompts or answers", async () => {
  const received: string[] = [];
  using collector = await startCollector(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    received.push(text);
    response.setHeader("content-type", "application/json").end("{}");
  });
  await using service = await startService({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_SERVICE_NAME: "gateway",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=staging%20eu",
    },
  });
  const { key } = await signUpWithKey(service.baseUrl);
  // Calls of procedures have no spans.
  const called = await fetch(`${service.baseUrl}/trpc/account.get`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(called.status).toBe(200);
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const response = await fetch(`${service.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    },
    body: JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "a secret prompt" }] }),
  });
  await response.text();
  await expect.poll(() => received.length).toBeGreaterThan(0);
  const all = received.join("\n");
  expect(all).not.toContain("a secret prompt");
  expect(all).not.toContain(key);
  const [{ resource }] = JSON.parse(received[0] ?? "").resourceSpans;
  expect(valuesOf(resource)).toMatchObject({
    "service.name": "gateway",
    "service.version": expect.any(String),
    "deployment.environment.name": "staging eu",
  });
  const spans: Span[] = received.flatMap((text) =>
    JSON.parse(text).resourceSpans.flatMap((resource: { scopeSpans: { spans: Span[] }[] }) =>
      resource.scopeSpans.flatMap((scope) => scope.spans),
    ),
  );
  expect(spans.map(({ name }) => name)).toEqual(["chat sandbox/echo"]);
  const [span] = spans;
  expect(span).toMatchObject({ traceId, parentSpanId: "b7ad6b7169203331" });
  const attributes = valuesOf(span);
  expect(attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "sandbox",
    "gen_ai.request.model": "sandbox/echo",
    "http.response.status_code": 200,
    "ostiary.request_id": response.headers.get("x-request-id"),
  });
  expect(Number(attributes["gen_ai.usage.output_tokens"])).toBeGreaterThan(0);
});

it("the log says why spans are not accepted, once, and when they are again", async () => {
  let status = 401;
  using collector = await startCollector((request, response) => {
    request
      .resume()
      .on("end", () => response.writeHead(status, { "content-type": "application/json" }).end("{}"));
  });
  await using service = await startService({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20hunter2",
      OSTIARY_LOG: "info",
    },
  });
  const { key } = await signUpWithKey(service.baseUrl);
  const lines = () => logLines(service.stderr()).filter(({ msg }) => msg?.includes("receiver of traces"));
  const untilLogged = (count: number) =>
    expect
      .poll(async () => {
        await statusOf(service.baseUrl, key);
        return lines().length;
      })
      .toBe(count);
  await untilLogged(1);
  expect(lines()[0]).toMatchObject({ level: "error", reason: "401 Unauthorized" });
  status = 200;
  await untilLogged(2);
  expect(service.stderr()).not.toContain("hunter2");
});
