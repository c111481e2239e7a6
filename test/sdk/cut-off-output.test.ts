import { describe, expect, it } from "vitest";
import { z } from "zod";
import { OutputValidationError } from "../../sdk/src/index.ts";
import { answersInTurn, caught, newClient } from "./fake-service.ts";

const ask = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };
const parsed = (content: string | null, finish: string) => {
  const choice = { index: 0, message: { role: "assistant", content }, finish_reason: finish };
  const fetch = answersInTurn(() => Response.json({ choices: [choice] }));
  return newClient({ fetch }).chat.completions.parse(ask, { schema: z.object({}) });
};

describe("a parsed answer without content", () => {
  it.each([
    ["", "length"],
    [null, "length"],
    ["", "content_filter"],
  ])("that was cut off is an error: %j by %s", async (content, finish) => {
    const error = await caught(parsed(content, finish));
    expect(error).toBeInstanceOf(OutputValidationError);
    expect(error).toMatchObject({ message: `The answer was cut off (${finish}).` });
  });

  it("that ended by itself is null", async () => {
    expect((await parsed(null, "stop")).choices[0]?.message.parsed).toBeNull();
  });
});
