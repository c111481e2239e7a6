import type { CatalogModel } from "../catalog/catalog.ts";
import { recordable } from "../contract/recorded-text.ts";
import type { RequestContext } from "./request-context.ts";
import type { Services } from "./services.ts";

/** Finds the model that a request names; `null`: the catalog has no such model. */
export function findModel(request: RequestContext, name: string, { catalog }: Services): CatalogModel | null {
  const model = catalog.find(name);
  // The entry contains a name that is unknown, which may be a key in the wrong field. Usage sums up all unknown names (`usage_model` in the
  // database).
  request.model = model === null ? recordable(name) : model.id;
  return model;
}
