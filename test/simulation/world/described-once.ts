import type * as OpenapiParts from "../../../server/src/operations/openapi-parts.ts";

/**
 * Takes the place of `openapi-parts.ts`: the same, but a schema is described once. Each start of a service describes its
 * operations for a document that no scenario reads, which was most of what a simulated start took.
 *
 * @example
 * vi.mock("../../server/src/operations/openapi-parts.ts", async (real) =>
 *   (await import("./world/described-once.ts")).describedOnce(await real()),
 * );
 */
export function describedOnce(real: typeof OpenapiParts): typeof OpenapiParts {
  const described = new Map<unknown, OpenapiParts.Schema>();
  const schemaOf: typeof real.schemaOf = (schema) => {
    const description = described.get(schema) ?? real.schemaOf(schema);
    described.set(schema, description);
    return description;
  };
  return { ...real, schemaOf };
}
