import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { eventsIn } from "./messages-events.ts";
import {
  type Answer,
  frames,
  HI,
  NATIVE_END,
  NATIVE_START,
  NATIVE_TEXT,
  startMessagesService,
} from "./messages-service.ts";

const service = sharedByFile(startMessagesService);

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const CHAT_END = `${chunk({}, "stop")}data: [DONE]\n\n`;

/** Reads a stream whose upstream says the first part at once, and the second when the client has got a sign of life. */
async function readSilent(
  model: string,
  first: string,
  second: string,
  sign: RegExp,
  headers: Record<string, string> = {},
): Promise<string> {
  let goOn = () => {};
  const signed = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const answer: Answer = async ({ response }) => {
    // Without a first part the upstream does not even answer.
    if (first !== "") response.setHeader("content-type", "text/event-stream").write(first);
    await signed;
    if (first === "") response.setHeader("content-type", "text/event-stream");
    response.end(second);
  };
  service.answers[model === "acme/native" ? "native" : "chat"] = answer;
  const response = await service.post({ ...HI, model, stream: true }, headers);
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (sign.test(text)) goOn();
  }
  return text;
}

const COMMENT = /^: waiting\n\n/;
const PING = /event: ping\ndata: \{"type":"ping"\}\n\n/;

// A silent stream gets a heartbeat after 15 seconds.
describe("a stream that is silent", { timeout: 60_000 }, () => {
  it("gets comments before message_start, and pings after it", async () => {
    const native = frames(NATIVE_START);
    const rest = frames(...NATIVE_TEXT.slice(0, 1), ...NATIVE_TEXT.slice(2), ...NATIVE_END);
    const chat = chunk({ content: "Hello" });
    const onceOnly = { "idempotency-key": crypto.randomUUID() };
    // One model at a time: a test's upstream answers all of its requests alike.
    const [early, earlyNative] = await Promise.all([
      readSilent("acme/chat", "", chat + CHAT_END, COMMENT, onceOnly),
      readSilent("acme/native", "", native + rest, COMMENT),
    ]);
    const repeated = await service.post({ ...HI, model: "acme/chat", stream: true }, onceOnly);
    expect(repeated.headers.get("idempotency-replayed")).toBe("true");
    // Nobody has waited for it.
    expect(await repeated.text()).toBe(early.replace(/^(?:: waiting\n\n)+/, ""));
    for (const text of [early, earlyNative]) {
      expect(eventsIn(text)[0]?.event).toBe("message_start");
      expect(eventsIn(text).at(-1)?.event).toBe("message_stop");
    }
    const [late, lateNative] = await Promise.all([
      readSilent("acme/chat", chat, CHAT_END, PING),
      readSilent("acme/native", native, rest, PING),
    ]);
    for (const text of [late, lateNative]) {
      const events = eventsIn(text).map(({ event }) => event);
      expect(events[0]).toBe("message_start");
      expect(events.at(-1)).toBe("message_stop");
      expect(events).toContain("ping");
    }
  });
});
