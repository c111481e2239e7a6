/** What models of chat produce, in the order in which the request names it. */
const NAMED = ["text", "image", "audio"];
/** Every model of OpenAI that speaks has this voice. */
const VOICE = "alloy";

/** The request's `modalities`: models that also produce images or speech do so if they are asked. */
export function outputFields(output: readonly string[], stream: boolean): Readonly<Record<string, unknown>> {
  const modalities = NAMED.filter((modality) => output.includes(modality));
  if (!modalities.some((modality) => modality !== "text")) return {};
  // Speech is streamed without a container, whose length would not be known.
  const audio = { voice: VOICE, format: stream ? "pcm16" : "wav" };
  return { modalities, ...(modalities.includes("audio") ? { audio } : {}) };
}
