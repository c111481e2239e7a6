import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AnswerEvent } from "../../server/src/conversation/answer.ts";
import {
  type Conversation,
  EFFORTS,
  EMPTY_CONVERSATION,
  type Turn,
} from "../../server/src/conversation/conversation.ts";
import { googleDialect } from "../../server/src/upstream/google/index.ts";
import type { TransportRequest } from "../../server/src/upstream/transport.ts";
import { upstreamOf } from "./dialect.ts";
import { answered, optionsOf, writtenByPackage } from "./google-package.ts";
import {
  at,
  CALLS,
  cache,
  call,
  file,
  image,
  jsonSchema,
  list,
  text,
  thought,
  tools,
} from "./random-conversation.ts";

// The AI SDK's package is written by others from the same reference, and used by many: what both write and read alike is right.

const MODELS = [
  "gemini-1.5-pro",
  "gemini-2.0-flash",
  "gemini-2.5-pro",
  "gemini-2.5-flash-lite",
  "gemini-pro-vision",
  "gemini-robotics-er-1.5-preview",
  "gemini-3-pro-preview",
  "gemini-3-pro-image-preview",
  "gemini-3-flash-preview",
  "gemini-3.1-pro-preview-customtools",
  "gemini-3.5-flash",
  "gemini-3.6-flash-lite",
  "gemini-3.7-flash",
  "gemini-3.7-flash-lite",
  "gemini-3.10-flash-preview",
  "gemini-4-argon",
  "gemini-4-hydrogen",
  "gemini-4.1-flash",
  "gemini-10-pro",
  "gemini-flash-latest",
  "gemini-flash-lite-latest",
  "gemini-nano-banana-2.1",
  "gemma-3-27b-it",
  "models/gemini-3-flash-preview",
  "publishers/google/models/gemini-2.5-flash",
  "tunedModels/mine",
  "another-vendors-model",
];
/** These take images in the results of tools. For others the package leaves out a result without text. */
const WITH_MEDIA_IN_RESULTS = /gemini-(?:[34]|10|flash|nano)/;

const signature = fc.constantFrom(
  null,
  { provider: "anthropic", fields: { signature: "s" } },
  { provider: "google", fields: { thoughtSignature: "g" } },
);
const said = fc.oneof(
  text,
  text.map((part) => ({ ...part, kind: "refusal" as const })),
  thought(signature),
  call(signature),
);
const isInline = ({ source }: { source: { kind: string } }) => source.kind === "data";
/** The package refuses images that are named by their URL. */
const inlineImage = image.filter(isInline);
const audio = fc.record({
  kind: fc.constant("audio" as const),
  data: fc.constant("UklGRg=="),
  format: fc.constantFrom("wav" as const, "mp3" as const),
  cache,
  at: fc.constant(at),
});
/** Of results with images or documents the package loses that they are errors. */
const result = fc
  .record({
    kind: fc.constant("result" as const),
    callId: fc.constantFrom("call_1", "call_2"),
    parts: fc.array(fc.oneof(text, inlineImage), { maxLength: 3 }),
    isError: fc.boolean(),
    cache: fc.constant(null),
    at: fc.constant(at),
  })
  .map((part) => ({ ...part, isError: part.isError && part.parts.every(({ kind }) => kind === "text") }));

const system = fc.record({ role: fc.constant("system" as const), parts: list(text) });
const user = fc.record({
  role: fc.constant("user" as const),
  parts: list(fc.oneof(text, inlineImage, audio, file(fc.constantFrom(null, "a.pdf")))),
});
const assistant = fc.record({ role: fc.constant("assistant" as const), parts: list(said) });
const results = fc.record({ role: fc.constant("tool" as const), parts: list(result) });
const early: fc.Arbitrary<Turn> = fc.oneof(system, user, assistant);
const late: fc.Arbitrary<Turn> = fc.oneof(system, user, assistant, results);

const format = fc.oneof(
  fc.constantFrom(null, { kind: "text" } as const, { kind: "json" } as const),
  fc.record({
    kind: fc.constant("schema" as const),
    name: fc.constant("s"),
    description: fc.constantFrom(null, "An answer."),
    schema: fc.oneof(fc.constant(null), jsonSchema),
    strict: fc.constant(true),
  }),
);

const conversation: fc.Arbitrary<Conversation> = fc
  .record({
    turns: fc.tuple(
      fc.array(system, { maxLength: 2 }),
      user,
      fc.array(early, { maxLength: 3 }),
      fc.array(late, { minLength: 1, maxLength: 4 }),
    ),
    tools,
    toolChoice: fc.constantFrom(
      null,
      { kind: "auto" } as const,
      { kind: "none" } as const,
      { kind: "required" } as const,
      { kind: "tool", name: "weather" } as const,
    ),
    parallelToolCalls: fc.constantFrom(null, true),
    maxTokens: fc.constantFrom(null, 1, 5_000, 1_000_000),
    sampling: fc.constantFrom({}, { temperature: 0.5, seed: 7 }, { topP: 0.5, topK: 3 }, { temperature: 2 }),
    stop: fc.constantFrom([], ["END"]),
    format,
    reasoning: fc.oneof(
      fc.constant(null),
      fc.record({
        effort: fc.constantFrom(null, ...EFFORTS),
        // The package does not keep a budget within what the model takes.
        budgetTokens: fc.constantFrom(null, 1_024, 20_000),
        summary: fc.constantFrom(null, "auto"),
      }),
    ),
  })
  .map(({ turns: [instructions, first, before, after], sampling, ...rest }) => ({
    ...EMPTY_CONVERSATION,
    ...rest,
    ...sampling,
    turns: [...instructions, withoutCache(first), ...before, ...CALLS, ...after].map(withoutCache),
  }));

/** Google has nothing to be told of caches, for which the package has a message of its own for each part. */
function withoutCache(turn: Turn): Turn {
  return { ...turn, parts: turn.parts.map((part) => ({ ...part, cache: null })) } as Turn;
}

function withoutMediaInResults(turn: Turn): Turn {
  if (turn.role !== "tool") return turn;
  const parts = turn.parts.map((part) => ({
    ...part,
    parts: part.parts.filter(({ kind }) => kind === "text"),
  }));
  return { ...turn, parts };
}

const asked = fc
  .record({ conversation, model: fc.constantFrom(...MODELS), stream: fc.boolean() })
  .map(({ conversation: made, model, stream }) => {
    const turns = WITH_MEDIA_IN_RESULTS.test(model) ? made.turns : made.turns.map(withoutMediaInResults);
    return { conversation: { ...made, turns }, model, stream };
  });

/** Sends a conversation to an upstream that answers with the given text. */
async function conversed(
  { conversation: said, model, stream }: { conversation: Conversation; model: string; stream: boolean },
  answer: string,
) {
  const sent: TransportRequest[] = [];
  const dialect = googleDialect({
    send: async (request) => {
      sent.push(request);
      const body = (async function* () {
        yield new TextEncoder().encode(answer);
      })();
      return { status: 200, headers: {}, body };
    },
    close: async () => {},
  });
  const { events } = await dialect.converse({
    upstream: upstreamOf("google"),
    upstreamModel: model,
    publicModel: "acme/chat",
    signal: new AbortController().signal,
    conversation: said,
    stream,
    maxTokens: null,
  });
  const found: AnswerEvent[] = [];
  for await (const piece of events) found.push(...piece.events);
  const [request] = sent;
  if (request === undefined) throw new Error("nothing was sent");
  return { url: request.url, body: JSON.parse(new TextDecoder().decode(request.body ?? undefined)), found };
}

/** The package leaves a `const` as it is in some places where a schema may stand, such as definitions. */
function withoutConst(sent: object): unknown {
  return JSON.parse(JSON.stringify(sent), (_, value) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, "const")) return value;
    const { const: only, ...others } = value;
    return { ...others, enum: [only] };
  });
}

const eventsIn = (list: readonly string[]) => list.map((event) => `data: ${event}\r\n\r\n`).join("");

describe("a request to Google", () => {
  it("is what the AI SDK's package writes for the same conversation", async () => {
    const finished = JSON.stringify({ candidates: [{ finishReason: "STOP" }] });
    await fc.assert(
      fc.asyncProperty(asked, async (request) => {
        const ours = await conversed(request, request.stream ? eventsIn([finished]) : finished);
        const theirs = await writtenByPackage(request.conversation, request.model, request.stream);
        expect(withoutConst({ url: ours.url, body: ours.body })).toEqual(withoutConst(theirs));
      }),
      { numRuns: Number(process.env.RUNS ?? 300) },
    );
  });
});

const signed = fc.constantFrom({}, { thoughtSignature: "c2ln" });
const answerPart = fc.oneof(
  fc.tuple(fc.constantFrom("a", "b c"), signed).map(([said, more]) => ({ text: said, ...more })),
  // Of a whole answer, the package gives the signature of an empty text to the part before it, whatever that has.
  fc.constant({ text: "" }),
  fc
    .tuple(fc.constantFrom("hm", "so"), signed)
    .map(([said, more]) => ({ text: said, thought: true, ...more })),
  fc
    .tuple(
      fc.constantFrom<object>(
        { name: "weather", args: { city: "Rome" } },
        { id: "call_1", name: "weather", args: {} },
        { name: "json", args: { a: 1 } },
        { name: "weather" },
      ),
      signed,
    )
    .map(([functionCall, more]) => ({ functionCall, ...more })),
  fc.constant({ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }),
  fc.constant({ executableCode: { language: "PYTHON", code: "1" } }),
);
const REASONS = ["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "BLOCKLIST", "SPII", "OTHER", "NEWER"];
const count = fc.nat({ max: 1_000 });
const usageMetadata = fc.record(
  {
    promptTokenCount: count,
    candidatesTokenCount: count,
    thoughtsTokenCount: count,
    toolUsePromptTokenCount: count,
    totalTokenCount: count,
  },
  { requiredKeys: ["promptTokenCount"] },
);
const piece = (reason: fc.Arbitrary<object>) =>
  fc
    .record({
      parts: fc.array(answerPart, { maxLength: 3 }),
      reason,
      usageMetadata,
      feedback: fc.constantFrom({}, {}, {}, { promptFeedback: { safetyRatings: [] } }),
    })
    .map(({ parts, reason: end, usageMetadata: usage, feedback }) =>
      JSON.stringify({
        candidates: [{ index: 0, content: { role: "model", parts }, ...end }],
        usageMetadata: usage,
        ...feedback,
      }),
    );
const end = piece(fc.constantFrom(...REASONS).map((finishReason) => ({ finishReason })));
const blocked = fc.constant(
  JSON.stringify({
    promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
    usageMetadata: { promptTokenCount: 4 },
  }),
);
/** An answer, or the events of a stream. */
const answer = fc.oneof(
  { weight: 5, arbitrary: end },
  { weight: 1, arbitrary: blocked },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.array(piece(fc.constant({})), { maxLength: 3 }), end)
      .map(([all, last]) => [...all, last]),
  },
);

const PLAIN: Conversation = {
  ...EMPTY_CONVERSATION,
  turns: [{ role: "user", parts: [{ kind: "text", text: "hi", cache: null, at }] }],
};
const WITH_TOOL: Conversation = {
  ...PLAIN,
  tools: [{ name: "weather", description: null, parameters: null, strict: null, cache: null }],
  format: { kind: "schema", name: null, description: null, schema: { type: "object" }, strict: null },
};

describe("an answer of Google", () => {
  it.each([
    ["with a text", PLAIN],
    ["with JSON in the input of a tool", WITH_TOOL],
  ])("%s is what the AI SDK's package reads", async (_, made) => {
    await fc.assert(
      fc.asyncProperty(answer, async (json) => {
        // The package leaves out a text that takes the place of the JSON.
        fc.pre(made === PLAIN || JSON.stringify(json).includes('name\\":\\"json'));
        const model = "gemini-2.5-flash";
        const stream = typeof json !== "string";
        const { found } = await conversed(
          { conversation: made, model, stream },
          stream ? eventsIn(json) : json,
        );
        const theirs = await answered(json, { model, options: optionsOf(made) });
        const hasImage = JSON.stringify(json).includes("inlineData");
        expect(answerIn(found)).toEqual(expectedOf(theirs, hasImage));
      }),
      { numRuns: Number(process.env.RUNS ?? 300) },
    );
  });
});

function answerIn(events: readonly AnswerEvent[]) {
  const textOf = (kind: "text" | "reasoning") =>
    events.map((event) => (event.kind === kind ? event.text : "")).join("");
  const calls: { name: string; input: string; signature: unknown }[] = [];
  for (const event of events) {
    if (event.kind === "call") calls[event.call] = { name: event.name, input: "", signature: null };
    const known = "call" in event ? calls[event.call] : undefined;
    if (known !== undefined && event.kind === "call-input") known.input += event.text;
    if (known !== undefined && event.kind === "call-end")
      known.signature = event.signature?.fields.thoughtSignature ?? null;
  }
  const last = events.at(-1);
  if (last?.kind !== "finish") throw new Error("no finish");
  const { usage } = last;
  return {
    text: textOf("text"),
    thoughts: textOf("reasoning"),
    calls,
    finish: last.reason,
    prompt: usage?.promptTokens,
    completion: usage?.completionTokens,
    reasoning: usage?.reasoningTokens ?? 0,
  };
}

function expectedOf(
  { text: said, thoughts, calls, finish, usage }: Awaited<ReturnType<typeof answered>>,
  hasImage: boolean,
) {
  // An answer of nothing that ends for another reason can only be told from a complete one in this way.
  const other = said === "" && !hasImage && calls.length === 0 ? { other: "filter" } : {};
  const reasons: Readonly<Record<string, string>> = {
    length: "length",
    "content-filter": "filter",
    ...other,
  };
  return {
    text: said,
    thoughts,
    calls,
    finish: reasons[finish] ?? (calls.length > 0 ? "calls" : "stop"),
    prompt: usage.inputTokens.total,
    completion: usage.outputTokens.total,
    reasoning: usage.outputTokens.reasoning,
  };
}
