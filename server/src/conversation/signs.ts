import { envelopeOf, type Failure } from "../errors/failure.ts";
import type { StreamSigns } from "./wire.ts";

/** A comment, which readers of server-sent events pass over. */
export const HEARTBEAT = ": waiting\n\n";
/** Ends a stream of chat completion chunks. */
export const LAST_CHUNK = "data: [DONE]\n\n";

/** A stream of chat completion chunks reports a failure as an event with OpenAI's error envelope. */
export const CHAT_SIGNS: StreamSigns = {
  heartbeat: () => HEARTBEAT,
  failure: (failure: Failure) => `data: ${JSON.stringify(envelopeOf(failure))}\n\n`,
};
