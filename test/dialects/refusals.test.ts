import { describe, expect, it } from "vitest";
import { Failure } from "../../server/src/errors/failure.ts";
import { verdictOf } from "../../server/src/gateway/verdict.ts";
import { chat, replayVendor, respond, streamText, upstreamOf } from "./dialect.ts";

// Whose fault a refusal is. A client's must not count against the upstream, which others use too, or against the operator's credential.
const baseUrl = "https://models.example/v1";
const vendor = replayVendor(/^https:\/\/models\.example\/v1\//);
const HI = { messages: [{ role: "user", content: "hi" }] };
const FILE = {
  type: "image_url",
  image_url: { url: "https://generativelanguage.googleapis.com/v1beta/files/none" },
};

const ask = (dialect: string, request: object = HI) => chat(upstreamOf(dialect, { baseUrl }), "m", request);

describe("a refusal", () => {
  it.each([
    ["openai", { message: "Unknown parameter: 'API_KEY_INVALID'.", param: "API_KEY_INVALID" }],
    ["openai", { message: "Invalid value: 'your credit balance is too low'. Supported values are: 'low'." }],
    ["google", { message: "no", details: [{ fieldViolations: [{ reason: "API_KEY_INVALID" }] }] }],
  ])("of %s that quotes the request is the client's fault: %j", async (dialect, error) => {
    vendor.answers(400, { error });
    await expect(ask(dialect)).rejects.toMatchObject({ status: 400, failure: { status: 400 } });
  });

  it("for an empty balance is the operator's", async () => {
    const message = "Your credit balance is too low to access the Anthropic API.";
    vendor.answers(400, { type: "error", error: { type: "invalid_request_error", message } });
    await expect(ask("anthropic")).rejects.toMatchObject({ status: 402, failure: { status: 502 } });
  });

  it("of a prompt that OpenRouter's moderation has flagged is the client's fault", async () => {
    const metadata = { reasons: ["violence"], flagged_input: "hi", provider_name: "p", model_slug: "m" };
    vendor.answers(403, { error: { code: 403, message: "Your input was flagged.", metadata } });
    const failure = { status: 400, message: "Your input was flagged." };
    await expect(ask("openai")).rejects.toMatchObject({ status: 400, failure });
    vendor.answers(403, { error: { code: 403, message: "Your key is disabled." } });
    await expect(ask("openai")).rejects.toMatchObject({ status: 403, failure: { status: 502 } });
  });

  it("because of a tool's server that the client has named is the client's fault", async () => {
    const upstream = upstreamOf("openai-responses", { baseUrl });
    const server = { type: "mcp", server_label: "none", server_url: "https://none.example" };
    const message = "Error retrieving tool list from MCP server: 'none'.";
    const error = { type: "external_connector_error", code: "http_error", message, param: "tools" };
    const failure = { status: 400, message, param: "tools" };
    vendor.answers(424, { error });
    const refused = respond(upstream, "m", { input: "hi", tools: [server] });
    await expect(refused).rejects.toMatchObject({ status: 424, failure });
    expect(verdictOf(await refused.catch((thrown: unknown) => thrown))).toMatchObject({ outcome: "success" });
    vendor.streams(`event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`);
    const streamed = streamText(respond(upstream, "m", { input: "hi", tools: [server], stream: true }));
    await expect(streamed).rejects.toMatchObject({ status: 424, failure });
  });

  it("by Google of a file that the client has named is the client's fault", async () => {
    const message = "You do not have permission to access the File none or it may not exist.";
    vendor.answers(403, { error: { code: 403, message, status: "PERMISSION_DENIED" } });
    const asked = ask("google", { messages: [{ role: "user", content: [FILE] }] });
    await expect(asked).rejects.toMatchObject({ status: 404, failure: { status: 400 } });
    await expect(ask("google")).rejects.toMatchObject({ status: 403, failure: { status: 502 } });
  });

  it("keeps its status and its reason if it quotes a request that is very long, as servers of FastAPI do", async () => {
    const wrong = { type: "missing", loc: ["body", "messages", 0, "role"], msg: "Field required" };
    const input = [{ content: "\\é".repeat(100_000) }];
    vendor.answers(422, { detail: [{ ...wrong, input }] });
    const failure = { status: 400, message: "Field required", param: "messages.0.role" };
    await expect(ask("openai")).rejects.toMatchObject({ status: 422, failure });
    vendor.answersBy(() => new Response("busy ".repeat(100_000), { status: 429 }));
    await expect(ask("openai")).rejects.toMatchObject({ status: 429, failure: { status: 503 } });
  });

  it("does not repeat a name that is very long", async () => {
    const message = { role: "user", content: "hi", ["x".repeat(100_000)]: 1 };
    const refused: unknown = await ask("anthropic", { messages: [message] }).catch((thrown) => thrown);
    if (!(refused instanceof Failure)) throw new Error("it was not refused");
    expect(refused).toMatchObject({ code: "invalid_request" });
    expect(refused.message.length + (refused.param?.length ?? 0)).toBeLessThan(1_000);
  });
});
