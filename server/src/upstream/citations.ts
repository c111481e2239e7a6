import type { Citation } from "../conversation/answer.ts";
import { heldNumber } from "../json/exact-numbers.ts";
import { isJsonObject, type Json, objectsIn } from "../json/json.ts";
import { textOf } from "../json/members.ts";

/** The pages of a list of annotations. Chat Completions have their members in an object of its own, and the Responses API beside the type. */
export function citationsIn(annotations: Json | undefined): readonly Citation[] {
  return objectsIn(annotations).flatMap((annotation) => {
    if (annotation.type !== "url_citation") return [];
    const members = isJsonObject(annotation.url_citation) ? annotation.url_citation : annotation;
    const { url, title, start_index: start, end_index: end } = members;
    if (typeof url !== "string") return [];
    return [{ url, title: textOf(title) ?? "", start: positionOf(start), end: positionOf(end) }];
  });
}

function positionOf(value: Json | undefined): number {
  const position = heldNumber(value) ?? 0;
  return Number.isSafeInteger(position) && position > 0 ? position : 0;
}
