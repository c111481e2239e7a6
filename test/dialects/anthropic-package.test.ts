import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Conversation,
  EFFORTS,
  EMPTY_CONVERSATION,
  nameOf,
  type Turn,
} from "../../server/src/conversation/conversation.ts";
import { messagesBodyOf } from "../../server/src/upstream/anthropic/conversation-body.ts";
import { traitsOf } from "../../server/src/upstream/anthropic/models.ts";
import { sidesOf } from "../../server/src/upstream/anthropic/sides.ts";
import { writtenByPackage } from "./anthropic-package.ts";
import { upstreamOf } from "./dialect.ts";
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

// The AI SDK's package is written by others from the same reference, and used by many: what both write alike is right.

const MODELS = [
  "claude-3-haiku-20240307",
  "claude-opus-4-20250514",
  "claude-sonnet-4@20250514",
  "claude-opus-4-1-20250805",
  "claude-sonnet-4-5",
  "claude-opus-4-6",
  "claude-opus-4-8",
  "claude-sonnet-5",
  "claude-opus-5",
  "claude-fable-5",
  "claude-fable-5-1",
  "claude-opus-5-5",
  "claude-haiku-5-5",
  "claude-sonnet-5-5",
  "claude-from-next-year",
  "claude-2.1",
  "anthropic.claude-sonnet-4-6-v1:0",
  "another-vendors-model",
];

const signature = fc.constantFrom(
  null,
  { provider: "google", fields: { thoughtSignature: "g" } },
  { provider: "anthropic", fields: { signature: "s" } },
  { provider: "anthropic", fields: { redactedData: "r" } },
);
const said = fc.oneof(
  text,
  text.map((part) => ({ ...part, kind: "refusal" as const })),
  thought(signature),
  call(fc.constant(null)),
);
/** Of results with images or documents the package loses that they are errors, and leaves documents of plain text out. */
const result = fc
  .record({
    kind: fc.constant("result" as const),
    callId: fc.constantFrom("call_1", "call_2"),
    parts: fc.array(fc.oneof(text, image), { maxLength: 3 }),
    isError: fc.boolean(),
    cache,
    at: fc.constant(at),
  })
  .map((part) => ({ ...part, isError: part.isError && part.parts.every(({ kind }) => kind === "text") }));

const turn: fc.Arbitrary<Turn> = fc.oneof(
  fc.record({ role: fc.constant("system" as const), parts: list(text) }),
  fc.record({
    role: fc.constant("user" as const),
    parts: list(fc.oneof(text, image, file(fc.constantFrom(null, "a.pdf")))),
  }),
  fc.record({ role: fc.constant("assistant" as const), parts: list(said) }),
  fc.record({ role: fc.constant("tool" as const), parts: list(result) }),
);

const INSTRUCTIONS: Turn = {
  role: "system",
  parts: [{ kind: "text", text: "Be brief.", cache: null, at }],
};

/** The package sends every schema as it is, although Anthropic takes objects only. */
const objectSchema = jsonSchema.filter(({ type }) => type === "object");

const conversation: fc.Arbitrary<Conversation> = fc
  .record({
    turns: fc.tuple(fc.array(turn, { maxLength: 3 }), fc.array(turn, { minLength: 1, maxLength: 4 })),
    tools,
    toolChoice: fc.constantFrom(
      null,
      { kind: "auto" } as const,
      { kind: "none" } as const,
      { kind: "required" } as const,
      { kind: "tool", name: "weather" } as const,
    ),
    parallelToolCalls: fc.constantFrom(null, true, false),
    maxTokens: fc.constantFrom(null, 1, 5_000, 1_000_000),
    sampling: fc.constantFrom({}, { temperature: 0.5 }, { topP: 0.5, topK: 3 }, { temperature: 1 }),
    stop: fc.constantFrom([], ["END"]),
    format: fc.oneof(
      fc.constant(null),
      objectSchema.map((value) => ({
        kind: "schema" as const,
        name: "s",
        description: null,
        schema: value,
        strict: true,
      })),
    ),
    reasoning: fc.oneof(
      fc.constant(null),
      fc.record({
        effort: fc.constantFrom(null, ...EFFORTS),
        budgetTokens: fc.constantFrom(null, 1_024, 3_000),
        summary: fc.constant(null),
      }),
    ),
    user: fc.constantFrom(null, "u-1"),
  })
  .map(({ turns: [before, after], sampling, ...rest }) => {
    const early = before.filter(({ role }) => role !== "tool");
    // The package moves the first instructions to the beginning, wherever they are.
    const turns = withoutLastThoughts([
      INSTRUCTIONS,
      ...withOtherIds(early, "early"),
      ...CALLS,
      ...withOtherIds(after, "late"),
    ]);
    const { toolChoice } = rest;
    // The package asks models to think, too, about results of calls whose thoughts are lost: they refuse that.
    const reasoning = turns.at(-1)?.role === "tool" ? null : rest.reasoning;
    // The package does not count a budget within the maximum.
    const hasBudget = reasoning?.effort === null && reasoning.budgetTokens !== null;
    // What is refused is not written.
    const isThinking = reasoning !== null && reasoning.effort !== "none";
    // The package counts the breakpoints of tools that it leaves out, because the model can't be made to call another one.
    const offered =
      toolChoice?.kind === "tool" ? rest.tools.map((tool) => ({ ...tool, cache: null })) : rest.tools;
    return {
      ...EMPTY_CONVERSATION,
      ...rest,
      reasoning,
      maxTokens: hasBudget ? null : rest.maxTokens,
      tools: offered,
      ...(isThinking ? {} : sampling),
      toolChoice: isThinking && toolChoice?.kind !== "none" ? null : toolChoice,
      turns,
    };
  });

/** The package sends thoughts in a last message of the model's, which Anthropic refuses at its end, and anywhere if the model is not to think. */
function withoutLastThoughts(turns: readonly Turn[]): readonly Turn[] {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return turns;
  const before = withoutLastThoughts(turns.slice(0, -1));
  const parts = last.parts.filter(({ kind }) => kind !== "reasoning");
  return parts.length === 0 ? before : [...before, { ...last, parts }];
}

/** The package asks every model that is told no effort to decide itself, which not all can, and does not ask for the summary of thoughts then. */
function asTheyWrite(asked: Conversation, model: string): Conversation {
  const { reasoning } = asked;
  const isTheirs =
    reasoning?.effort !== null || (reasoning.budgetTokens !== null && traitsOf(model).hasBudgets);
  return isTheirs ? asked : { ...asked, reasoning: null };
}

/** The package asks every model to take instructions anywhere, even where none does. */
function inPlaces({ turns, ...asked }: Conversation, model: string): Conversation {
  const sides = sidesOf(turns, traitsOf(model).hasLateInstructions);
  return { ...asked, turns: sides.flatMap((side) => side.turns) };
}

/** The package has a message for each of several instructions that follow each other. */
function withOneMessage(body: unknown): unknown {
  const { messages, ...others } = body as { readonly messages: readonly SentMessage[] };
  const merged: SentMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (last?.role === "system" && message.role === "system") last.content.push(...message.content);
    else merged.push(message);
  }
  return { ...others, messages: merged };
}

interface SentMessage {
  readonly role: string;
  readonly content: unknown[];
}

/** The package does not tell calls of one id apart, which Anthropic refuses. */
function withOtherIds(turns: readonly Turn[], prefix: string): readonly Turn[] {
  return turns.map((turn, index) =>
    turn.role !== "assistant"
      ? turn
      : {
          ...turn,
          parts: turn.parts.map((part, position) =>
            part.kind === "call" ? { ...part, id: `${prefix}_${index}_${position}` } : part,
          ),
        },
  );
}

const FIELDS: Readonly<Record<string, keyof Conversation>> = {
  "providerOptions.anthropic.thinking": "reasoning",
  topP: "topP",
  topK: "topK",
  toolChoice: "toolChoice",
  temperature: "temperature",
};
const OTHERS: Readonly<Record<string, string>> = { "cacheControl breakpoint limit": "cache_control" };

describe("a request to Anthropic", () => {
  it("is what the AI SDK's package writes for the same conversation", async () => {
    await fc.assert(
      fc.asyncProperty(
        conversation,
        fc.constantFrom(...MODELS),
        fc.boolean(),
        async (random, model, stream) => {
          const asked = asTheyWrite(random, model);
          const ours = messagesBodyOf({
            upstream: upstreamOf("anthropic"),
            upstreamModel: model,
            publicModel: "acme/chat",
            signal: new AbortController().signal,
            conversation: asked,
            stream,
            maxTokens: null,
          });
          const theirs = await writtenByPackage(inPlaces(asked, model), model, stream);
          expect(JSON.parse(JSON.stringify(ours.body))).toEqual(withOneMessage(theirs.body));
          expect(new Set(ours.betas)).toEqual(new Set(theirs.betas));
          // With an answer as the input of a tool, the package names what the client has not asked for.
          if (ours.answerTool !== null) return;
          const unsupported = theirs.unsupported
            .filter((name) => name !== "maxOutputTokens")
            .map((name) => OTHERS[name] ?? nameOf(asked, FIELDS[name] ?? ("strict" as keyof Conversation)));
          expect(new Set(ours.ignored)).toEqual(new Set(unsupported));
        },
      ),
      { numRuns: Number(process.env.RUNS ?? 300) },
    );
  });
});
