import { api, queryClient } from "../../api/client.ts";
import { findModel } from "./find-model.ts";

/** What the catalog says that a model produces. */
export function outputOf(model: string): readonly string[] {
  const catalog = queryClient.getQueryData(api.models.list.queryKey());
  return findModel(catalog?.models ?? [], model)?.modalities.output ?? [];
}
