/** The sort orders of models. The default is by id. */
export const SORTS = ["id", "context", "price"] as const;
export type Sort = (typeof SORTS)[number];

/** The part of the page's state that is in its address. */
export interface ModelsSearch {
  readonly search?: string | undefined;
  readonly sort?: Sort | undefined;
}

export function readModelsSearch({ search, sort }: Record<string, unknown>): ModelsSearch {
  const text = typeof search === "number" ? String(search) : search;
  return {
    search: typeof text === "string" && text !== "" ? text : undefined,
    sort: SORTS.find((known) => known === sort && known !== "id"),
  };
}
