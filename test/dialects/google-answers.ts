/** What the failure for a malformed answer has. */
export const MALFORMED = { failure: { code: "upstream_error" } };
/** A usage as Google tells it. */
export const USAGE = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

/** An answer of Google with a candidate. */
export function answer(
  parts: unknown,
  finish: object = { finishReason: "STOP" },
  usageMetadata: object = USAGE,
) {
  return {
    candidates: [{ index: 0, content: { role: "model", parts }, ...finish }],
    usageMetadata,
    modelVersion: "gemini",
    responseId: "q8ZxaLr2",
  };
}

/** The text of a stream of answers. */
export const streamOf = (...list: object[]) =>
  list.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("");
