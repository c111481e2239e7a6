import type { CatalogModel, CatalogUpstream } from "../../../api/types.ts";

/** Models that a search finds by what they, their owners or their routes are called. */
export function selectModels(models: readonly CatalogModel[], search: string): readonly CatalogModel[] {
  return models.filter(({ id, aliases, ownedBy, routes }) =>
    matches(search, [id, ...aliases, ownedBy, ...routes.flatMap(({ upstream, model }) => [upstream, model])]),
  );
}

/** Upstreams that a search finds by name, dialect or address. */
export function selectUpstreams(
  upstreams: readonly CatalogUpstream[],
  search: string,
): readonly CatalogUpstream[] {
  return upstreams.filter(({ name, dialect, baseUrl }) => matches(search, [name, dialect, baseUrl]));
}

/** Every word of the search has to be found somewhere. */
function matches(search: string, texts: readonly string[]): boolean {
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => texts.some((text) => text.toLowerCase().includes(word)));
}
