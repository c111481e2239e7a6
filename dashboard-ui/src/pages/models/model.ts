import type { ListedModel } from "../../api/types.ts";

/** Whether it answers chat requests. */
export function chats({ modalities }: ListedModel): boolean {
  return modalities.output.includes("text");
}

/** Whether it answers with embeddings. */
export function embeds({ modalities }: ListedModel): boolean {
  return modalities.output.includes("embedding");
}

/** What it is asked for: "chat", "embeddings". */
export function usesOf(model: ListedModel): readonly string[] {
  return [...(chats(model) ? ["chat"] : []), ...(embeds(model) ? ["embeddings"] : [])];
}

/** What it takes and gives beside text: "images, audio in", "images out". */
export function mediaOf({ modalities: { input, output } }: ListedModel): readonly string[] {
  return [...wordsFor(input, "in"), ...wordsFor(output, "out")];
}

const MEDIA = [
  { modality: "image", words: "images" },
  { modality: "audio", words: "audio" },
  { modality: "video", words: "video" },
  { modality: "file", words: "files" },
] as const;

function wordsFor(modalities: readonly string[], way: "in" | "out"): readonly string[] {
  const media = MEDIA.filter(({ modality }) => modalities.includes(modality));
  return media.length === 0 ? [] : [`${media.map(({ words }) => words).join(", ")} ${way}`];
}

/** Whether its prices say that it costs nothing. A model without prices is not charged for either; callers check that first. */
export function isFree({ prices }: ListedModel): boolean {
  return prices !== null && Object.values(prices).every((price) => price === 0n);
}

/** Whether every word of what was searched for is in a model's names, or says what it takes and gives. */
export function matches(model: ListedModel, search: string): boolean {
  const names = [model.id, ...model.aliases, model.ownedBy, ...(model.sandbox ? ["sandbox"] : [])];
  const text = [...names, ...usesOf(model), ...mediaOf(model)].join("\n").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
