import { beforeAll, describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { chatWhole, HI, NATIVE_MESSAGE, startMessagesService, TOOL } from "./messages-service.ts";

const service = sharedByFile(startMessagesService);
beforeAll(() => {
  service.answers.chat = chatWhole({ content: "Fine." });
});

const said = (...content: unknown[]) => ({ messages: [{ role: "user", content }] });
const heard = (...content: unknown[]) => ({
  messages: [
    { role: "user", content: "hi" },
    { role: "assistant", content },
  ],
});
const thinking = (value: unknown) => ({ thinking: value });

/** What is wrong for every model; each with the field that the refusal names. */
const WRONG: readonly (readonly [object, string])[] = [
  [{ model: undefined }, "model"],
  [{ model: 5 }, "model"],
  [{ max_tokens: undefined }, "max_tokens"],
  [{ max_tokens: null }, "max_tokens"],
  [{ max_tokens: -1 }, "max_tokens"],
  [{ max_tokens: 1.5 }, "max_tokens"],
  [{ max_tokens: "100" }, "max_tokens"],
  [{ max_tokens: 1e10 }, "max_tokens"],
  [{ messages: undefined }, "messages"],
  [{ messages: [] }, "messages"],
  [{ messages: "hi" }, "messages"],
  [{ messages: [null] }, "messages.0"],
  [{ messages: [{ role: "tool", content: "x" }] }, "messages.0.role"],
  [{ messages: [{ role: "user" }] }, "messages.0.content"],
  [{ messages: [{ role: "user", content: 5 }] }, "messages.0.content"],
  [{ messages: [{ role: "user", output_config: {} }] }, "messages.0.content"],
  [{ messages: [{ role: "system" }] }, "messages.0.content"],
  [{ messages: [{ role: "system", content: null, output_config: {} }] }, "messages.0.content"],
  [said("text"), "messages.0.content"],
  [said({ text: "no type" }), "messages.0.content"],
  [{ system: 5 }, "system"],
  [{ system: ["text"] }, "system"],
  [{ stream: "yes" }, "stream"],
  [{ temperature: 1.1 }, "temperature"],
  [{ temperature: -0.1 }, "temperature"],
  [{ top_p: 2 }, "top_p"],
  [{ top_k: -1 }, "top_k"],
  [{ top_k: 1.5 }, "top_k"],
  [{ stop_sequences: "END" }, "stop_sequences"],
  [{ stop_sequences: [5] }, "stop_sequences.0"],
  [{ metadata: "x" }, "metadata"],
  [{ metadata: { user_id: 5 } }, "metadata.user_id"],
  [{ service_tier: 5 }, "service_tier"],
  [{ tools: {} }, "tools"],
  [{ tools: [5] }, "tools.0"],
  [{ tools: [{ ...TOOL, name: "" }] }, "tools.0.name"],
  [{ tools: [{ ...TOOL, description: 5 }] }, "tools.0.description"],
  [{ tools: [{ ...TOOL, input_schema: "x" }] }, "tools.0.input_schema"],
  [{ tools: [{ ...TOOL, strict: "yes" }] }, "tools.0.strict"],
  [{ tool_choice: "auto" }, "tool_choice"],
  [{ tool_choice: { type: "required" } }, "tool_choice.type"],
  [{ tool_choice: { type: "auto", disable_parallel_tool_use: 1 } }, "tool_choice.disable_parallel_tool_use"],
  [thinking("yes"), "thinking"],
  [thinking({ type: "enabled", budget_tokens: 10 }), "thinking.budget_tokens"],
  [thinking({ type: "enabled", budget_tokens: "many" }), "thinking.budget_tokens"],
  [thinking({ type: "adaptive", display: 5 }), "thinking.display"],
  [{ output_config: { effort: 5 } }, "output_config.effort"],
  [{ output_config: { format: "json" } }, "output_config.format"],
  [{ provider: "x" }, "provider"],
  [{ thread: { type: "create" } }, "thread"],
  [{ thread: { type: "continue", previous_message_id: "msg_1" } }, "thread"],
  [{ MAX_TOKENS: 5 }, "max_tokens"],
  [{ System: "x" }, "system"],
  [{ Thread: { type: "create" } }, "thread"],
];

/** What other upstreams than Anthropic's can't be told. */
const INEXPRESSIBLE: readonly (readonly [object, string])[] = [
  [said(), "messages"],
  [{ ...said(), system: "Be brief." }, "messages"],
  [
    { messages: [{ role: "assistant", content: [{ type: "thinking", thinking: "Hm", signature: "x" }] }] },
    "messages",
  ],
  [said({ type: "text" }), "messages.0.content.0.text"],
  [said({ type: "some_new_block" }), "messages.0.content.0"],
  [said({ type: "image" }), "messages.0.content.0.source"],
  [said({ type: "image", source: { type: "file", file_id: "f" } }), "messages.0.content.0.source.type"],
  [said({ type: "image", source: { type: "base64", data: "" } }), "messages.0.content.0.source.media_type"],
  [said({ type: "image", source: { type: "url", url: "ftp://x" } }), "messages.0.content.0.source.url"],
  [
    said({ type: "document", source: { type: "content", content: 5 } }),
    "messages.0.content.0.source.content",
  ],
  [said({ type: "search_result", content: null }), "messages.0.content.0.content"],
  [said({ type: "tool_result", tool_use_id: "none" }), "messages.0.content.0.tool_use_id"],
  [said({ type: "tool_result" }), "messages.0.content.0.tool_use_id"],
  [heard({ type: "tool_use", name: "f", input: {} }), "messages.1.content.0.id"],
  [heard({ type: "tool_use", id: "a", input: {} }), "messages.1.content.0.name"],
  [heard({ type: "tool_use", id: "a", name: "f", input: [1] }), "messages.1.content.0.input"],
  [{ system: [{ type: "image", source: { type: "url", url: "https://x.test" } }] }, "system.0"],
  [{ tools: [{ type: "custom" }] }, "tools.0.name"],
  [{ tools: [{ type: "function", function: { name: "f" } }] }, "input_schema"],
  [{ tools: [{ function: { name: "f" } }] }, "tools.0: "],
  [{ tools: [TOOL, { type: "function", name: "f", parameters: {} }] }, "tools.1: "],
  [{ tools: [TOOL], tool_choice: { type: "tool" } }, "tool_choice.name"],
  [{ output_config: { format: { type: "xml" } } }, "output_config.format"],
  [{ stop: ["x"] }, "stop_sequences"],
  [{ response_format: { type: "json_object" } }, "output_config.format"],
  [{ reasoning_effort: "low" }, "output_config.effort"],
];

describe("a wrong request of the Messages API", () => {
  it.each([...WRONG, ...INEXPRESSIBLE])("is refused with 400: %j names %s", async (fields, param) => {
    const calls = service.chat.received.length;
    const response = await service.post({ ...HI, ...fields });
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    expect({ status: response.status, type: error.type }).toEqual({
      status: 400,
      type: "invalid_request_error",
    });
    expect(error.message).toContain(param);
    expect(service.chat.received).toHaveLength(calls);
  });

  it.each(WRONG.filter(([fields]) => "messages" in fields || "model" in fields))(
    "is refused when its tokens are counted, too: %j",
    async (fields) => {
      const response = await service.post({ ...HI, ...fields }, {}, "/v1/messages/count_tokens");
      expect(response.status).toBe(400);
    },
  );

  it("is refused for an upstream of Anthropic's, before it is sent", async () => {
    const calls = service.native.received.length;
    for (const [fields] of WRONG.filter(([wrong]) => !("model" in wrong))) {
      expect((await service.post({ ...HI, model: "acme/native", ...fields })).status).toBe(400);
    }
    expect(service.native.received).toHaveLength(calls);
  });

  it("may have anything else, which is never a fault of the service", async () => {
    const odd = [null, true, 5, "x", [], {}, [null], [[]], { type: 5 }, { type: "text", text: {} }];
    const places: ((value: unknown) => object)[] = [
      (value) => ({ system: [value] }),
      (value) => said(value),
      (value) => said({ type: "document", source: value, title: value, content: value }),
      (value) => said({ type: "search_result", content: [value], title: value, source: value }),
      (value) => heard(value),
      (value) => heard({ type: "thinking", thinking: value, signature: value }),
      (value) => heard({ type: "redacted_thinking", data: value }),
      (value) => heard({ type: "tool_use", id: value, name: value, input: value, cache_control: value }),
      (value) => said({ type: "tool_result", tool_use_id: value, content: [value], is_error: value }),
      (value) => ({ tools: [value], tool_choice: value }),
      (value) => ({ thinking: value, output_config: value, output_format: value }),
      (value) => ({ [`odd "name"\r\nx: ${"y".repeat(100)}`]: value, cache_control: value, container: value }),
    ];
    for (const place of places) {
      for (const value of odd) {
        for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
          const response = await service.post({ ...HI, ...place(value) }, {}, path);
          expect([200, 400], JSON.stringify([place(value), path])).toContain(response.status);
          await response.text();
        }
      }
    }
  });

  it("names no more of what was ignored than a header can hold", async () => {
    const fields = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`field_${index}`, 1]));
    const response = await service.post({ ...HI, ...fields });
    expect(response.status).toBe(200);
    expect(response.headers.get("ostiary-ignored-fields")).toMatch(/field_31, and 868 more$/);
  });
});

describe("a message that only sets the effort", () => {
  it("needs no content, for an upstream of the Messages API and for others", async () => {
    service.answers.native = ({ response }) =>
      void response.setHeader("content-type", "application/json").end(JSON.stringify(NATIVE_MESSAGE));
    const effort = { role: "system", output_config: { effort: "low" } };
    const messages = [...HI.messages, effort];
    expect((await service.post({ ...HI, model: "acme/native", messages })).status).toBe(200);
    expect(service.native.received.at(-1)?.body.messages).toEqual(messages);
    const answer = await service.post({ ...HI, messages });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("ostiary-ignored-fields")).toBeNull();
    expect(service.sent()).toMatchObject({ messages: HI.messages, reasoning_effort: "low" });
  });
});
