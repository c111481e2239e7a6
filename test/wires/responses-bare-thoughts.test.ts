import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { answersWhole, THOUGHT, upstreamResponse } from "./native-responses.ts";
import type { ResponseEvent } from "./response-stream.ts";
import { answersMessage, sentTo, startResponsesService } from "./responses-service.ts";

// OpenAI's libraries send the items of a response back as they have received them: its thoughts with an id, and, unless they were asked
// for, without the encrypted content that their provider wants back.
const running = sharedByFile(startResponsesService);

const TOOLS = [{ type: "function", name: "weather", parameters: { type: "object", properties: {} } }];
const user = { role: "user", content: "hi" };
const call = { id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } };
const result = { type: "function_call_output", call_id: "call_1", output: "sunny" };
const CALL = {
  id: "fc_1",
  type: "function_call",
  status: "completed",
  call_id: "call_1",
  name: "weather",
  arguments: "{}",
};

/** The output of a response with a thought and a call, as a client has it. */
async function thinks(fields: object = {}): Promise<ResponseEvent[]> {
  running.answers.chat = answersMessage({ reasoning_content: "hmm", tool_calls: [call] }, "tool_calls");
  const { output } = await running.ask({ input: [user], tools: TOOLS, ...fields });
  expect(output.map(({ type }: ResponseEvent) => type)).toEqual(["reasoning", "function_call"]);
  expect(output[0]).not.toHaveProperty("encrypted_content");
  running.answers.chat = answersMessage({ content: "Fine." });
  return output;
}

/** The message with the call, as the upstream receives it with the call's result. */
async function sentBack(output: readonly object[], options: { key?: string } = {}) {
  const answer = await running.post({ input: [user, ...output, result], tools: TOOLS }, options);
  expect(answer.status).toBe(200);
  return sentTo(running.chat).messages[1];
}

describe("a thought that a client sends back without its encrypted content", () => {
  it("is what the stored response has of it", async () => {
    expect(await sentBack(await thinks())).toMatchObject({
      role: "assistant",
      reasoning_content: "hmm",
      tool_calls: [call],
    });
  });

  it("goes on being known when the response that it was sent back for is continued", async () => {
    const [thought, called] = await thinks();
    const asked = { input: [user, { ...thought, encrypted_content: null }, called, result], tools: TOOLS };
    const { id } = await running.ask(asked);
    await running.ask({ input: "more", previous_response_id: id, tools: TOOLS });
    expect(sentTo(running.chat).messages[1]).toMatchObject({ reasoning_content: "hmm" });
  });

  it("is completed for an upstream of the Responses API, too", async () => {
    running.answers.native = answersWhole(upstreamResponse({ output: [THOUGHT, CALL] }));
    const { output } = await running.ask({ model: "acme/native", input: [user], tools: TOOLS });
    expect(output[0]).not.toHaveProperty("encrypted_content");
    await running.ask({ model: "acme/native", input: [user, ...output, result], tools: TOOLS });
    const { id, encrypted_content } = THOUGHT;
    expect(sentTo(running.native).input[1]).toMatchObject({ type: "reasoning", id, encrypted_content });
  });

  it("is left out if it is not stored, unknown or another account's", async () => {
    const without = expect.not.objectContaining({ reasoning_content: "hmm" });
    expect(await sentBack(await thinks({ store: false }))).toEqual(without);
    const [thought, ...others] = await thinks();
    expect(await sentBack([{ ...thought, id: "rs_unknown" }, ...others])).toEqual(without);
    const { key } = await signUpWithKey(running.service.baseUrl);
    expect(await sentBack([{ ...thought }, ...others], { key })).toEqual(without);
  });
});
