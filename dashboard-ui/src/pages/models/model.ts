import type { ListedModel } from "../../api/types.ts";

/** Whether a model supports chat. */
export function chats({ modalities }: ListedModel): boolean {
  return modalities.output.includes("text");
}

/**
 * The model that examples and the playground begin with: the first chat model of the catalog, whose order the operator chooses. Models of
 * the sandbox come last, because they only repeat or invent text.
 */
export function firstChatModelOf(models: readonly ListedModel[]): ListedModel | undefined {
  const chatModels = models.filter(chats);
  return chatModels.find(({ sandbox }) => !sandbox) ?? chatModels[0];
}

/** Whether a model supports embeddings. */
export function embeds({ modalities }: ListedModel): boolean {
  return modalities.output.includes("embedding");
}

/** Who offers a model: its owner, or the first part of its id where the catalog names none. `null` if neither is known. */
export function ownerOf({ id, ownedBy }: ListedModel): string | null {
  if (ownedBy !== "unknown") return ownedBy;
  return id.includes("/") ? (id.split("/", 1)[0] ?? null) : null;
}

/** The uses of a model: "chat", "embeddings". */
export function usesOf(model: ListedModel): readonly string[] {
  return [...(chats(model) ? ["chat"] : []), ...(embeds(model) ? ["embeddings"] : [])];
}

/** The media that a model accepts and produces beside text: "images, audio in", "images out". */
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

/** Whether a model's prices are zero. A model without prices is free too; callers check that first. */
export function isFree({ prices }: ListedModel): boolean {
  return prices !== null && Object.values(prices).every((price) => price === 0n);
}

/** Whether every word of the search occurs in a model's names, uses or media. */
export function matches(model: ListedModel, search: string): boolean {
  const names = [model.id, ...model.aliases, model.ownedBy, ...(model.sandbox ? ["sandbox"] : [])];
  const text = [...names, ...usesOf(model), ...mediaOf(model)].join("\n").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
