/** A JSON object. */
export type Fields = Record<string, unknown>;

/** Whether a value of JSON is an object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a text in JSON stands for; `undefined`: it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller tells where the text is from.
    return undefined;
  }
}

/** Adds the id of an answer to what it says, in a property that is not enumerable, and not printed. */
export function identified<Body extends object>(body: Body, requestId: string | null | undefined): Body {
  return Object.defineProperty(body, "_request_id", { value: requestId });
}

/** The objects of a list; none of anything else. */
export function fieldsIn(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}
