import { describe, expect, it } from "vitest";
import { metricOf } from "../fixtures/metrics.ts";
import { answerWhole, chunkOf } from "../fixtures/model-server.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { startRoutedService } from "./routed-service.ts";
import type { Answer } from "./upstream-faults.ts";

const service = sharedByFile(startRoutedService);

const failsWithUsage: Answer = ({ response }) =>
  void response.setHeader("content-type", "application/json").end(
    JSON.stringify({
      id: "a",
      object: "chat.completion",
      created: 1,
      model: "inner",
      choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "error" }],
      usage: { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 },
    }),
  );

/** Reports the prompt's tokens, and breaks off before it has answered anything. */
const breaksOffAfterUsage: Answer = ({ response }) => {
  const chunk = {
    id: "a",
    object: "chat.completion.chunk",
    created: 1,
    model: "inner",
    choices: [],
    usage: { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 },
  };
  response
    .setHeader("content-type", "text/event-stream")
    .write(`data: ${JSON.stringify(chunk)}\n\n`, () => setTimeout(() => response.destroy(), 50));
};

function unbilledOf(upstream: string): Promise<number> {
  return metricOf(service.baseUrl, `ostiary_upstream_unbilled_tokens_total{upstream="${upstream}"}`);
}

describe("tokens that an upstream reports for a request that it fails", () => {
  it("are counted for the operator when another route answers", async () => {
    service.answers.one = failsWithUsage;
    service.answers.two = (request) => answerWhole(request, "from two");
    const response = await service.chat("acme/both");
    expect(response.status).toBe(200);
    expect(JSON.stringify(await response.json())).toContain("from two");
    expect(await unbilledOf("one")).toBe(42);
    expect(await unbilledOf("two")).toBe(0);
    expect((await service.healthOf("one")).unbilledTokens).toBe(42);
  });

  it("are not, when no other route follows: the request's entry has them", async () => {
    service.answers.two = failsWithUsage;
    expect((await service.chat("acme/two")).status).toBeGreaterThanOrEqual(500);
    expect(await unbilledOf("two")).toBe(0);
  });

  it("are counted when a stream breaks off before any of it could be sent on", async () => {
    const before = await unbilledOf("one");
    service.answers.one = breaksOffAfterUsage;
    service.answers.two = ({ response }) =>
      void response
        .setHeader("content-type", "text/event-stream")
        .end(`${chunkOf({ content: "from two" })}${chunkOf({}, "stop")}data: [DONE]\n\n`);
    const response = await service.messages("acme/both");
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("from two");
    expect(await unbilledOf("one")).toBe(before + 5);
  });
});
