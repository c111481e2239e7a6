import { expect, it } from "vitest";
import { newClient } from "./fake-service.ts";

const TOKENS_PER_CHUNK = 500;
const CHUNKS = 400;
/** If every token were compared with those before it, this would take longer than the test may. */
const TOKENS = TOKENS_PER_CHUNK * CHUNKS;
const DEADLINE_MS = 20_000;

it(
  "a long answer with the log probability of each token is put together in time proportional to its length",
  async () => {
    const content = Array.from({ length: TOKENS_PER_CHUNK }, () => ({ token: "a", logprob: -1 }));
    const chunk = { choices: [{ index: 0, delta: { content: "a" }, logprobs: { content } }] };
    const event = `data: ${JSON.stringify(chunk)}\n\n`;
    const fetch = async () => new Response(`${event.repeat(CHUNKS)}data: [DONE]\n\n`);
    const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
    const { choices } = await newClient({ fetch }).chat.completions.stream(ask).finalCompletion();
    expect(choices[0]?.logprobs?.content).toHaveLength(TOKENS);
  },
  DEADLINE_MS,
);
