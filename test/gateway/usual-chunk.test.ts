import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ForwardCall } from "../../server/src/upstream/dialect.ts";
import { streamedAnswer } from "../../server/src/upstream/openai/streamed-answer.ts";

/** What a client gets of chunks, and what is charged for. */
interface Forwarded {
  readonly sent: string;
  readonly produced: string;
  readonly usage: unknown;
  readonly error: string | null;
}

async function forwarded(chunks: readonly string[], includeUsage: boolean): Promise<Forwarded> {
  // Only these are used.
  const call = { publicModel: "acme/m", request: { includeUsage, body: { value: {} } } } as ForwardCall;
  const encoder = new TextEncoder();
  const body = async function* () {
    for (const chunk of [...chunks, "[DONE]"]) yield encoder.encode(`data: ${chunk}\n\n`);
  };
  const answer = streamedAnswer(call, body());
  let sent = "";
  let error: string | null = null;
  try {
    for await (const text of answer.events) sent += text;
  } catch (thrown) {
    error = String(thrown);
  }
  return { sent, produced: answer.produced().beginning(), usage: answer.usageSoFar?.() ?? null, error };
}

/** Each chunk in a stream of its own, in which nothing is known of others. */
async function forwardedAlone(chunks: readonly string[], includeUsage: boolean): Promise<Forwarded> {
  let all: Forwarded = { sent: "", produced: "", usage: null, error: null };
  for (const chunk of chunks) {
    const { sent, produced, usage, error } = await forwarded([chunk], includeUsage);
    all = { sent: all.sent + sent, produced: all.produced + produced, usage: usage ?? all.usage, error };
    if (error !== null) break;
  }
  return all;
}

const TEXTS = [
  " word",
  "",
  "a\\nb",
  "\\u00e9 é 😀",
  "\\ud83d",
  '\\"content\\":\\"x',
  "ostiary-text",
  "\\",
  '"',
  "\t",
  "\\x",
];
/** The members of a delta that a server may send, with a text in some of them. */
const DELTAS = [
  (text: string) => `{"content":"${text}"}`,
  (text: string) => `{"role":"assistant","content":"${text}"}`,
  (text: string) => `{"content":"${text}","reasoning_content":"${text}"}`,
  (text: string) => `{"reasoning_content":"${text}","content":""}`,
  (text: string) => `{"content": "${text}"}`,
  (text: string) => `{"content":"${text}","content":"last"}`,
  (text: string) => `{"content":"${text}","c\\u006fntent":"last"}`,
  (text: string) => `{"content":null,"refusal":"${text}"}`,
  (text: string) => `{"tool_calls":[{"index":0,"function":{"name":"content","arguments":"${text}"}}]}`,
  (text: string) => `{"x":{"content":"${text}"}}`,
  (text: string) => `{"content":"${text}"`,
];
const ENDS = [
  "",
  ',"usage":null',
  ',"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}',
  ',"obfuscation":"x1"',
  ',"obfuscation":"x23"',
  ',"content":"beside"',
  ',"error":{"message":"content"}',
  ',"model":"acme/other"',
];

/** What stands beside a delta, and further choices of a chunk, with a text in some of them. */
const LOGPROBS = [
  () => "",
  () => ',"logprobs":null',
  (text: string) =>
    `,"logprobs":{"content":[{"token":"${text}","logprob":-0.1,"bytes":[32],"top_logprobs":[{"token":"content","logprob":-9999.0,"bytes":null}]}],"refusal":null}`,
  (text: string) => `,"logprobs":{"content":"${text}"}`,
];
const OTHER_CHOICES = [
  () => "",
  (text: string) => `,{"index":1,"delta":{"content":"${text}"},"logprobs":null,"finish_reason":null}`,
  () => ',{"index":1,"delta":{},"finish_reason":"stop"}',
  () => ',{"index":1,"delta":{"content":""},"finish_reason":null}',
];

const pick = <Value>(values: readonly Value[]) => fc.constantFrom(...values);
const chunk = fc
  .record({
    text: pick(TEXTS),
    delta: pick(DELTAS),
    end: pick(ENDS),
    finish: pick(["null", "null", '"stop"']),
    index: pick([0, 0, 1]),
    logprobs: pick(LOGPROBS),
    others: pick(OTHER_CHOICES),
  })
  .map(
    ({ text, delta, end, finish, index, logprobs, others }) =>
      `{"id":"1","model":"inner","choices":[{"index":${index},"delta":${delta(text)}${logprobs(text)},"finish_reason":${finish}}${others(text)}]${end}}`,
  );
/** Mostly alike, as the chunks of a stream are. */
const alike = fc.record({
  delta: pick(DELTAS.slice(0, 3)),
  end: pick(ENDS.slice(0, 2)),
  logprobs: pick(LOGPROBS),
  others: pick(OTHER_CHOICES),
  texts: fc.array(pick(TEXTS), { minLength: 1 }),
});

describe("chunks that differ in nothing but their text", () => {
  it.each([
    [
      "alike, with every kind of text",
      TEXTS.slice(0, 7).map((text) => `{"model":"inner","choices":[{"delta":{"content":"${text}"}}]}`),
    ],
    [
      "that end with one that is cut off",
      [" a", " b", " c"].map(
        (text, index) =>
          `{"model":"inner","choices":[{"delta":{"content":"${text}"}}]${index < 2 ? "}" : ""}`,
      ),
    ],
  ])("are forwarded as if each came alone: %s", async (_, chunks) => {
    for (const includeUsage of [true, false])
      expect(await forwarded(chunks, includeUsage)).toEqual(await forwardedAlone(chunks, includeUsage));
  });

  it("are forwarded as if each came alone when their text has millions of characters", async () => {
    const chunks = ["s", "x".repeat(12_000_000), "\\n".repeat(4_000_000), "e"].map(
      (text) => `{"model":"inner","choices":[{"delta":{"content":"${text}"}}]}`,
    );
    const { sent, error } = await forwarded(chunks, false);
    expect(error).toBeNull();
    // Not compared as values: what differs would be printed.
    expect(sent === (await forwardedAlone(chunks, false)).sent).toBe(true);
  });

  it("are forwarded as if each came alone, whatever comes between them", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            chunk.map((one) => [one]),
            alike.map(chunksOf),
          ),
          { minLength: 1 },
        ),
        fc.boolean(),
        async (groups, includeUsage) => {
          const chunks = groups.flat();
          expect(await forwarded(chunks, includeUsage)).toEqual(await forwardedAlone(chunks, includeUsage));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

function chunksOf({
  delta,
  end,
  logprobs,
  others,
  texts,
}: {
  delta: (text: string) => string;
  end: string;
  logprobs: (text: string) => string;
  others: (text: string) => string;
  texts: readonly string[];
}): string[] {
  return texts.map(
    (text) =>
      `{"id":"1","model":"inner","choices":[{"index":0,"delta":${delta(text)}${logprobs(text)},"finish_reason":null}${others(text)}]${end}}`,
  );
}
