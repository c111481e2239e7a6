import type { CatalogModel, CatalogUpstream } from "../../../api/types.ts";

/** The models whose names, owners or routes match a search. */
export function selectModels(models: readonly CatalogModel[], search: string): readonly CatalogModel[] {
  return models.filter(({ id, aliases, ownedBy, routes }) =>
    matches(search, [id, ...aliases, ownedBy, ...routes.flatMap(({ upstream, model }) => [upstream, model])]),
  );
}

/** The upstreams whose name, dialect or address matches a search. */
export function selectUpstreams(
  upstreams: readonly CatalogUpstream[],
  search: string,
): readonly CatalogUpstream[] {
  return upstreams.filter(({ name, dialect, baseUrl }) => matches(search, [name, dialect, baseUrl]));
}

/** Whether every word of the search occurs in one of the texts. */
function matches(search: string, texts: readonly string[]): boolean {
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => texts.some((text) => text.toLowerCase().includes(word)));
}
