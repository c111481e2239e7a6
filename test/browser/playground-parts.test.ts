import { describe, expect, it } from "vitest";
import { messagesTurns, responsesItems } from "../../dashboard-ui/src/components/format-messages.ts";
import { type Answer, extended, NO_ANSWER } from "../../dashboard-ui/src/pages/playground/answer.ts";
import {
  type Attachment,
  MAX_ATTACHED_BYTES,
  refusalOf,
} from "../../dashboard-ui/src/pages/playground/attachment.ts";
import { splitBlocks, textsOf } from "../../dashboard-ui/src/pages/playground/blocks.ts";
import {
  addedLane,
  bodyOf,
  type ChatMessage,
  NEW_CHAT,
  reopened,
  titleOf,
} from "../../dashboard-ui/src/pages/playground/chat-state.ts";
import { checkJson } from "../../dashboard-ui/src/pages/playground/check-json.ts";
import { keyFor, keysInRotation } from "../../dashboard-ui/src/pages/playground/choose-key.ts";
import { failureOf } from "../../dashboard-ui/src/pages/playground/failure.ts";
import { type ChatEntry, idsBeyondMax } from "../../dashboard-ui/src/pages/playground/history.ts";
import { readShared, sharedFragment } from "../../dashboard-ui/src/pages/playground/share.ts";
import { speechFile } from "../../dashboard-ui/src/pages/playground/speech.ts";
import { schemaProblem } from "../../dashboard-ui/src/pages/playground/tools.ts";
import { APIConnectionError, errorFor, StreamInterruptedError } from "../../sdk/src/session.ts";

describe("an answer", () => {
  /** What chunks with these deltas add up to. */
  function answerOf(...deltas: readonly object[]): Answer {
    return deltas.reduce<Answer>((answer, delta) => extended(answer, { choices: [{ delta }] }), NO_ANSWER);
  }

  it("has its tool calls put together from their pieces, in their places", () => {
    const piece = (index: number, called: object) => ({ tool_calls: [{ index, function: called }] });
    const { calls } = answerOf(
      piece(0, { name: "open", arguments: '{"do' }),
      piece(1, { name: "close", arguments: "" }),
      piece(0, { arguments: 'or":1}' }),
      piece(1, { arguments: "{}" }),
    );
    expect(calls).toEqual([
      { id: "", name: "open", arguments: '{"door":1}' },
      { id: "", name: "close", arguments: "{}" },
    ]);
    expect(answerOf(piece(4_000_000_000, { name: "far", arguments: "{}" })).calls).toHaveLength(1);
  });

  it("has its reasoning apart from its text, by either name that servers have for it", () => {
    expect(answerOf({ reasoning_content: "Hm. " }, { reasoning: "So." }, { content: "Yes" })).toMatchObject({
      reasoning: "Hm. So.",
      text: "Yes",
    });
  });

  it("is read from a whole completion as from chunks, and passes over what nobody knows", () => {
    const completion = {
      choices: [{ message: { content: [{ type: "text", text: "Yes" }] }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
      vendor_extra: 1,
    };
    expect(extended(NO_ANSWER, completion)).toEqual({
      text: "Yes",
      reasoning: "",
      calls: [],
      images: [],
      finishReason: "stop",
      usage: { promptTokens: 3, completionTokens: 1 },
    });
    for (const odd of [
      null,
      1,
      [],
      {},
      { choices: null },
      { choices: [null] },
      { choices: [{ delta: 7 }] },
    ]) {
      expect(extended(NO_ANSWER, odd)).toEqual(NO_ANSWER);
    }
  });
});

describe("speech", () => {
  const inBase64 = (...bytes: readonly number[]) => Buffer.from(bytes).toString("base64");
  const contentOf = (speech: Attachment | null) => Buffer.from(speech?.url?.split(",")[1] ?? "", "base64");

  it("that comes in pieces gets the header of a WAV file, and one that is a file keeps its own", () => {
    const speech = speechFile([inBase64(1, 2), inBase64(3, 4, 5, 6)]);
    const file = contentOf(speech);
    expect(speech).toMatchObject({ kind: "audio", mediaType: "audio/wav", bytes: 50 });
    expect(file.subarray(0, 4).toString("latin1")).toBe("RIFF");
    expect([file.readUInt32LE(4), file.readUInt32LE(24), file.readUInt32LE(40)]).toEqual([42, 24_000, 6]);
    expect([...file.subarray(44)]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(contentOf(speechFile([file.toString("base64")]))).toEqual(file);
    expect(speechFile(["%"])).toBeNull();
  });
});

describe("a failure", () => {
  const headers = new Headers({ "x-request-id": "req_1", "retry-after": "2" });

  it("of the service has its code, message, request ID and time to wait", () => {
    const error = { code: "rate_limit_exceeded", message: "Slow down.", type: "t", param: null };
    expect(failureOf(errorFor(429, { error }, headers), null)).toEqual({
      code: "rate_limit_exceeded",
      message: "Slow down.",
      requestId: "req_1",
      retryAfterMs: 2_000,
    });
  });

  it("that something else reported names the status, not that party's words", () => {
    expect(failureOf(errorFor(502, null, new Headers()), null)).toEqual({
      code: null,
      message: "Unexpected response (status 502). Check the proxy between you and the service.",
      requestId: null,
      retryAfterMs: null,
    });
  });

  it("of the connection says whether the service had begun to answer", () => {
    const unreachable = failureOf(new APIConnectionError("m"), null);
    expect(unreachable.message).toContain("can't be reached");
    const cut = "The connection was lost before the answer was complete. Try again.";
    expect(failureOf(new APIConnectionError("m"), "req_1")).toMatchObject({
      message: cut,
      requestId: "req_1",
    });
    expect(failureOf(new StreamInterruptedError("m", null), null).message).toBe(cut);
  });
});

describe("the key of the playground", () => {
  const plain = { id: "plain", rotation: null };
  const successor = { id: "new", rotation: null };
  const predecessor = { id: "old", rotation: { successorId: "new" } };

  it("is the newest that no rotation watches", () => {
    expect(keyFor([successor, predecessor, plain, { id: "older", rotation: null }], null)).toBe(plain);
    expect([...keysInRotation([successor, predecessor, plain])].sort()).toEqual(["new", "old"]);
  });

  it("is the chosen one while it is active, also in a rotation", () => {
    expect(keyFor([successor, predecessor, plain], "old")).toBe(predecessor);
    expect(keyFor([plain], "revoked")).toBe(plain);
  });

  it("has to be chosen when a rotation watches every key", () => {
    expect(keyFor([successor, predecessor], null)).toBeUndefined();
    expect(keyFor([], null)).toBeUndefined();
  });
});

const PLAIN = { role: "user", text: "", attachments: [], calls: [], generated: null } as const;
const IMAGE: Attachment = {
  id: "1",
  kind: "image",
  name: "dot.png",
  mediaType: "image/png",
  bytes: 3,
  url: "data:image/png;base64,AAAA",
};

describe("a Markdown text that grows", () => {
  const text =
    "# T\n\nOne\nline\n\n- a\n\n  - b\n- c\n\n    code\n\n```js\nlet a;\n\nb\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n> q\nlazy\n\nEnd\n===\n";

  it("is split as it would be at once, and complete blocks do not change", () => {
    let split = splitBlocks("", null);
    for (let length = 1; length <= text.length; length++) {
      const before = textsOf(split);
      split = splitBlocks(text.slice(0, length), split);
      expect(split).toEqual(splitBlocks(text.slice(0, length), null));
      expect(textsOf(split).slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    }
    expect(textsOf(split).join("")).toBe(text);
  });

  it("with definitions stays whole, because they apply to all of it", () => {
    const linked = "See [it][1].\n\n[1]: https://example.com/\n";
    expect(textsOf(splitBlocks(linked, null))).toEqual([linked]);
  });
});

describe("a request of the playground", () => {
  const call = { id: "c", name: "f", arguments: "{}", result: "42" };
  const messages: readonly ChatMessage[] = [
    { ...PLAIN, id: 1, text: "look", attachments: [IMAGE] },
    { ...PLAIN, id: 2, role: "assistant", calls: [call] },
    { ...PLAIN, id: 3, text: "  " },
  ];

  it("has attachments as parts and results of tools as messages, and leaves out what is empty", () => {
    const { messages: sent } = bodyOf(NEW_CHAT, messages, "m", []);
    expect(sent).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: IMAGE.url } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: "42" },
    ]);
    expect(responsesItems(sent)).toEqual([
      {
        role: "user",
        content: [
          { type: "input_text", text: "look" },
          { type: "input_image", image_url: IMAGE.url },
        ],
      },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "42" },
    ]);
    expect(messagesTurns(sent)).toMatchObject([
      { role: "user", content: [{ type: "text" }, { type: "image", source: { data: "AAAA" } }] },
      { role: "assistant", content: [{ type: "tool_use", id: "c", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "42" }] },
    ]);
  });

  it("asks for what a model produces beside text, unless the answer has to be JSON", () => {
    const asked = (output: readonly string[], chat = NEW_CHAT) => {
      const { modalities, audio } = bodyOf(chat, messages, "m", output);
      return { modalities, audio };
    };
    expect(asked(["text"])).toEqual({});
    expect(asked(["image", "text"])).toEqual({ modalities: ["text", "image"] });
    expect(asked(["text", "audio"], { ...NEW_CHAT, stream: false })).toEqual({
      modalities: ["text", "audio"],
      audio: { voice: "alloy", format: "wav" },
    });
    expect(asked(["text", "image"], { ...NEW_CHAT, format: { kind: "json_object", schema: "" } })).toEqual(
      {},
    );
  });

  it("to a further model asks the same question", () => {
    const [first] = NEW_CHAT.lanes;
    const lanes = first === undefined ? [] : [{ ...first, messages: messages.slice(0, 2) }];
    expect(addedLane(lanes, "b")).toMatchObject({ id: 2, model: "b", messages: [{ id: 1 }] });
  });

  it("is named after its beginning", () => {
    const [first] = NEW_CHAT.lanes;
    const titled = (text: string) =>
      titleOf({
        ...NEW_CHAT,
        lanes: first === undefined ? [] : [{ ...first, messages: [{ ...PLAIN, id: 1, text }] }],
      });
    expect(titled("  two\nlines ")).toBe("two lines");
    expect(titled("x".repeat(100))).toHaveLength(61);
  });
});

describe("a shared chat", () => {
  const [first] = NEW_CHAT.lanes;
  const chat = {
    ...NEW_CHAT,
    system: "s",
    lanes: first === undefined ? [] : [{ ...first, model: "m", messages: [{ ...PLAIN, id: 1, text: "hi" }] }],
    parameters: { temperature: "0.5" },
    tools: [{ name: "f", description: "", parameters: "{}" }],
  };

  it("is read as it was written", async () => {
    const shared = await sharedFragment(chat);
    const read = await readShared(shared?.fragment ?? "");
    expect(read).toMatchObject({ system: "s", lanes: chat.lanes, tools: chat.tools });
    expect(read?.parameters.temperature).toBe("0.5");
  });

  it("leaves out attachments that are too large, and is refused when its text is", async () => {
    const random = Array.from({ length: 90_000 }, () => Math.random().toString(36)[2]).join("");
    const large = { ...IMAGE, url: `data:image/png;base64,${random}` };
    const withImage = { ...chat, draft: { role: "user" as const, text: "", attachments: [large] } };
    expect(await sharedFragment(withImage)).toMatchObject({ lacksAttachments: true });
    expect(await sharedFragment({ ...chat, system: random + random })).toBeNull();
  });

  it("of a stranger can bring nothing but what the page knows", async () => {
    const odd = { ...IMAGE, url: "https://example.com/spy.png" };
    const draft = { role: "system", text: 7, attachments: [odd, { kind: "script" }] };
    const shared = await sharedFragment({ ...chat, draft, toolChoice: { a: 1 } } as never);
    const read = await readShared(shared?.fragment ?? "");
    expect(read?.draft).toMatchObject({ role: "user", text: "", attachments: [{ url: null }] });
    expect(read?.draft.attachments).toHaveLength(1);
    expect(read?.toolChoice).toBe("auto");
    for (const damaged of ["chat=", "chat=%%%", "chat=AAAA"]) expect(await readShared(damaged)).toBeNull();
  });

  it("that would unpack to more than the memory should hold is refused", async () => {
    const bomb = await sharedFragment({ ...chat, system: "a".repeat(5_000_000) });
    expect(bomb?.fragment.length).toBeLessThan(60_000);
    expect(await readShared(bomb?.fragment ?? "")).toBeNull();
  });
});

describe("the history", () => {
  const entry = (id: string, updatedMs: number, bytes = 0, userId = "u"): ChatEntry => {
    return { id, userId, title: id, isRenamed: false, models: [], updatedMs, bytes };
  };

  it("keeps the latest chats, up to its maximum number and size, and none of another user", () => {
    const many = Array.from({ length: 103 }, (_, index) => entry(String(index), index));
    expect(idsBeyondMax([...many, entry("other", 1_000, 0, "v")], "u")).toEqual(["other", "2", "1", "0"]);
    expect(idsBeyondMax([entry("new", 2, 200_000_000), entry("old", 1)], "u")).toEqual(["old"]);
  });

  it("reopens an answer that was underway as one that was stopped", () => {
    const generated = { outcome: "underway" } as ChatMessage["generated"];
    const [first] = NEW_CHAT.lanes;
    const lanes =
      first === undefined ? [] : [{ ...first, isRunning: true, messages: [{ ...PLAIN, id: 1, generated }] }];
    const [lane] = reopened({ ...NEW_CHAT, lanes }).lanes;
    expect(lane).toMatchObject({ isRunning: false, messages: [{ generated: { outcome: "stopped" } }] });
  });
});

describe("attachments", () => {
  const both = { images: true, files: true };
  const png = { name: "a.png", type: "image/png", size: 10 };

  it("are those that the model takes, up to the size of a body", () => {
    expect(refusalOf(png, both, 0)).toBeNull();
    expect(refusalOf(png, { images: false, files: true }, 0)).toContain("takes no images");
    expect(refusalOf({ ...png, type: "text/html" }, both, 0)).toContain("is no PNG");
    expect(refusalOf({ ...png, size: 0 }, both, 0)).toContain("is empty");
    expect(refusalOf(png, both, MAX_ATTACHED_BYTES - 5)).toContain("14 MB");
  });
});

describe("JSON of an answer", () => {
  const schema = JSON.stringify({
    type: "object",
    properties: { a: { type: "object", properties: { b: { type: "integer" } } } },
    required: ["a"],
  });

  it("is checked against its schema, and each problem names its place", () => {
    const format = { kind: "json_schema", schema } as const;
    expect(checkJson('{"a":{"b":1}}', format).problems).toEqual([]);
    const wrong = checkJson('{"a":{"b":"x"}}', format).problems;
    expect(wrong).toHaveLength(1);
    expect(wrong[0]).toMatch(/^a\/b: /);
    expect(checkJson("{", format)).toMatchObject({ formatted: null });
  });

  it("has a schema whose mistakes are named before it is sent", () => {
    expect(schemaProblem(schema)).toBeUndefined();
    expect(schemaProblem("{")).toContain("Not valid JSON");
    expect(schemaProblem("[]")).toContain("Enter a JSON object");
    expect(schemaProblem('{"properties":{"a":{"type":"int"}}}')).toContain("/properties/a");
    expect(schemaProblem('{"required":"a"}')).toContain("required");
  });
});
