/** The part of the page's state that is in its address: the initial model. */
interface PlaygroundSearch {
  readonly model?: string | undefined;
}

export function readPlaygroundSearch({ model }: Record<string, unknown>): PlaygroundSearch {
  // The router parses texts that look like numbers as numbers.
  const name = typeof model === "number" ? String(model) : model;
  return { model: typeof name === "string" && name !== "" ? name : undefined };
}
