/** What of the page stands in its address: the model that it begins with. */
export interface PlaygroundSearch {
  readonly model?: string | undefined;
}

export function readPlaygroundSearch({ model }: Record<string, unknown>): PlaygroundSearch {
  // The router reads what looks like a number as one.
  const name = typeof model === "number" ? String(model) : model;
  return { model: typeof name === "string" && name !== "" ? name : undefined };
}
