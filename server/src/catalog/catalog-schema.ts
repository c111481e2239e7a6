import { z } from "zod";
import { catalogFile } from "./catalog-file.ts";

/** The JSON Schema of a catalog file, for editors: of the same definition that checks it. */
export function catalogJsonSchema(): object {
  const schema = z.toJSONSchema(catalogFile, { io: "input", target: "draft-7" });
  return {
    ...schema,
    title: "Catalog of models and upstreams",
    description: "See docs/reference/catalog.md.",
  };
}
