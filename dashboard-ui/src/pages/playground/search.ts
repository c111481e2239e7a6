/** What of the page stands in its address: the model that it begins with. */
export interface PlaygroundSearch {
  readonly model?: string | undefined;
}

export function readPlaygroundSearch({ model }: Record<string, unknown>): PlaygroundSearch {
  return { model: typeof model === "string" && model !== "" ? model : undefined };
}
