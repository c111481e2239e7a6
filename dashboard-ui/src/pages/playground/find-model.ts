import type { ListedModel } from "../../api/types.ts";

/** Finds a model by id or alias, as the service does. */
export function findModel(models: readonly ListedModel[], name: string | null): ListedModel | undefined {
  if (name === null) return undefined;
  return models.find(({ id }) => id === name) ?? models.find(({ aliases }) => aliases.includes(name));
}
