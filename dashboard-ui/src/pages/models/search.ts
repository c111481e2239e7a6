/** What of the page stands in its address. */
export interface ModelsSearch {
  readonly search?: string | undefined;
}

export function readModelsSearch({ search }: Record<string, unknown>): ModelsSearch {
  const text = typeof search === "number" ? String(search) : search;
  return { search: typeof text === "string" && text !== "" ? text : undefined };
}
