import { expect, it } from "vitest";
import type { ReceivedRequest } from "../fixtures/model-server.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { beginningOf, MESSAGE, upstreamResponse } from "./native-responses.ts";
import { eventsOf } from "./response-stream.ts";
import { startResponsesService } from "./responses-service.ts";

/** Streams a response whose item is nested so deeply that the last event, which lacks it, can't be written with it. */
function streamUnwritableEnd({ response }: ReceivedRequest): void {
  const deep = `${"[".repeat(1_000)}${"]".repeat(1_000)}`;
  const beginning = beginningOf(upstreamResponse()).slice(0, -1);
  const item = { ...MESSAGE, content: "DEEP" };
  const done = { type: "response.output_item.done", output_index: 1, item };
  const events = [
    ...beginning,
    { ...done, sequence_number: beginning.length },
    { type: "response.completed", response: upstreamResponse({ output: [] }) },
  ];
  response.setHeader("content-type", "text/event-stream");
  for (const event of events) response.write(`data: ${JSON.stringify(event).replace('"DEEP"', deep)}\n\n`);
  response.end();
}

it.each([
  ["with an idempotency key", { "idempotency-key": crypto.randomUUID() }],
  ["without one", {}],
])("a stream whose end can't be written is recorded as failed, and charged: %s", async (_, headers) => {
  await using running = await startResponsesService();
  const { key, trpc } = await signUpWithKey(running.service.baseUrl);
  running.answers.native = streamUnwritableEnd;
  const body = { model: "acme/native", input: "go", stream: true, store: false };
  for (let times = 1; times <= 2; times++) {
    const answer = await running.post(body, { key, headers });
    const events = eventsOf(await answer.text());
    expect(events.at(-3)?.item.id).toBe(MESSAGE.id);
    expect(events.at(-1)?.type).toBe("response.failed");
    const { entries } = await trpc.audit.list.query({ limit: 5 });
    expect(entries).toHaveLength(times);
    const requestId = answer.headers.get("x-request-id");
    expect(entries[0]).toMatchObject({ requestId, status: 200, errorCode: "upstream_error" });
    expect(Number(entries[0]?.costNanoUsd)).toBeGreaterThan(0);
  }
});
