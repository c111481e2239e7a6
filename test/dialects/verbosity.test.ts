import { describe, expect, it } from "vitest";
import { clock, replayVendor, respond, upstreamOf, whole } from "./dialect.ts";

const vendor = replayVendor(/\/chat\/completions$/);
const upstreamAt = () => upstreamOf("openai", { baseUrl: "https://models.example/v1" });
const ASKED = { input: "Hi", text: { verbosity: "low" } };
const fine = () =>
  Response.json({
    choices: [{ index: 0, message: { role: "assistant", content: "Fine." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  });
const ignoredOf = async (asked: object, upstream = upstreamAt(), model = "m") => {
  const answer = await respond(upstream, model, asked);
  expect((await whole(Promise.resolve(answer))).output).toMatchObject([{ content: [{ text: "Fine." }] }]);
  return answer.kind === "whole" ? answer.ignored : [];
};

describe("the verbosity of a response, which Codex sets", () => {
  it.each([
    { error: { message: "property 'verbosity' is unsupported", type: "invalid_request_error" } },
    {
      detail: [
        { type: "extra_forbidden", loc: ["body", "verbosity"], msg: "Extra inputs are not permitted" },
      ],
    },
    {
      error: { message: "Unsupported value: only 'medium' is supported with this model", param: "verbosity" },
    },
  ])("is left out and named for a server that refuses it: %j", async (refusal) => {
    vendor.answersBy(({ verbosity }) =>
      verbosity === undefined ? fine() : Response.json(refusal, { status: 400 }),
    );
    const upstream = upstreamAt();
    expect(await ignoredOf(ASKED, upstream)).toEqual(["text.verbosity"]);
    expect(vendor.sent).toHaveLength(2);
    // The server is not asked for it again for some minutes.
    expect(await ignoredOf(ASKED, upstream)).toEqual(["text.verbosity"]);
    expect(vendor.sent).toHaveLength(3);
    expect(await ignoredOf({ input: "Hi" }, upstream)).toEqual([]);
    clock.ms += 5 * 60_000;
    await ignoredOf(ASKED, upstream);
    expect(vendor.sent.map(({ body }) => body.verbosity)).toEqual([
      "low",
      undefined,
      undefined,
      undefined,
      "low",
      undefined,
    ]);
  });

  it("still reaches a server that takes it, as OpenRouter does", async () => {
    vendor.answersBy(fine);
    expect(await ignoredOf(ASKED)).toEqual([]);
    expect(vendor.sent.map(({ body }) => body.verbosity)).toEqual(["low"]);
  });

  it("still reaches a server for others after a refusal that may quote one client", async () => {
    const upstream = upstreamAt();
    vendor.answers(400, { error: { message: "Invalid text: verbosity" } });
    const asked = { ...ASKED, input: "What is verbosity?" };
    await expect(respond(upstream, "m", asked)).rejects.toMatchObject({ status: 400 });
    vendor.answersBy(fine);
    vendor.answersOnce(400, { error: { message: "Invalid text: verbosity" } });
    await ignoredOf(asked, upstream);
    await ignoredOf(ASKED, upstream);
    expect(vendor.sent.map(({ body }) => body.verbosity)).toEqual([
      "low",
      undefined,
      "low",
      undefined,
      "low",
    ]);
  });

  it("is no reason to send a request again that has none", async () => {
    vendor.answers(400, { error: { message: "verbosity is no city" } });
    const asked = { input: "Hi", text: { verbosity: "medium" } };
    await expect(respond(upstreamAt(), "m", asked)).rejects.toMatchObject({ status: 400 });
    expect(vendor.sent).toHaveLength(1);
  });
});
