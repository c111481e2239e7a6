import { describe, expect, it } from "vitest";
import { type CatalogModel, catalogOf, TEXT_ONLY } from "../../server/src/catalog/catalog.ts";
import { LiveCatalog } from "../../server/src/catalog/live-catalog.ts";
import { createCompressor } from "../../server/src/operations/compressed-body.ts";
import { listModels } from "../../server/src/operations/models.ts";
import type { WholeReply } from "../../server/src/operations/reply.ts";

const MODELS = 500;

/** A catalog of many models, which counts how often one of them is read. */
function largeCatalog(name: string) {
  const counted = { reads: 0 };
  const models = Array.from(
    { length: MODELS },
    (_, number): CatalogModel => ({
      id: `${name}/model-${number}`,
      aliases: [],
      get ownedBy() {
        counted.reads++;
        return name;
      },
      created: 1,
      sandbox: false,
      contextTokens: 1_000,
      maxOutputTokens: 100,
      modalities: TEXT_ONLY,
      prices: null,
      routes: [],
    }),
  );
  return { catalog: catalogOf(models, []), counted };
}

describe("the list of models", () => {
  type Run = ReturnType<typeof listModels>["run"];
  const listed = async (operation: { run: Run }, kind: "openai" | "codex") =>
    (await operation.run({ input: { kind } } as Parameters<Run>[0])) as WholeReply;

  it("is written once for each catalog and form, however often it is read", async () => {
    const { catalog, counted } = largeCatalog("acme");
    const live = new LiveCatalog(catalog);
    counted.reads = 0;
    const operation = listModels(live);
    const first = await listed(operation, "openai");
    const codex = await listed(operation, "codex");
    for (let time = 0; time < 10; time++) {
      expect(await listed(operation, "openai")).toEqual(first);
      expect(await listed(operation, "codex")).toEqual(codex);
    }
    expect(counted.reads).toBe(2 * MODELS);
    expect(JSON.parse(first.body).data).toHaveLength(MODELS);
    expect(JSON.parse(codex.body).models).toEqual([]);

    live.replace(largeCatalog("other").catalog);
    expect(JSON.parse((await listed(operation, "openai")).body).data[0].owned_by).toBe("other");
  });

  it("is compressed once, beside the OpenAPI document", async () => {
    const { catalog } = largeCatalog("acme");
    const { body, isShared = false } = await listed(listModels(catalog), "openai");
    const compress = createCompressor();
    const first = await compress(body, "gzip", isShared);
    await compress("the document ".repeat(1_000), "gzip", true);
    expect(await compress(body, "gzip", isShared)).toBe(first);
  });
});
