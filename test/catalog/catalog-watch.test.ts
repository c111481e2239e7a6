import { describe, expect, it } from "vitest";
import { CATALOG_PARSER, type CatalogParser } from "../../server/src/catalog/catalog-text.ts";
import {
  CatalogWatch,
  type FileStates,
  LiveCatalog,
  notingStates,
} from "../../server/src/catalog/live-catalog.ts";
import { loadCatalog } from "../../server/src/catalog/load-catalog.ts";
import { DIALECTS } from "../../server/src/upstream/dialects.ts";

const PATH = "/etc/catalog.yaml";
const CREDENTIAL = "/run/secrets/acme";

function catalogOf(model: string): string {
  return `
upstreams:
  acme: { dialect: openai, baseUrl: "http://127.0.0.1:9/v1", credentialFile: ${CREDENTIAL} }
models:
  - id: ${model}
    contextTokens: 1000
    maxOutputTokens: 100
    routes: [{ upstream: acme, model: ${model} }]
`;
}

/** A watch over files that are in memory. */
async function watching(files: Map<string, string>, parser = CATALOG_PARSER) {
  const told = { reloads: 0, problems: [] as string[], made: 0 };
  const source = {
    path: PATH,
    environment: {},
    readFile: async (path: string) => {
      const text = files.get(path);
      if (text === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: "ENOENT" });
      return text;
    },
    dialects: DIALECTS,
    parser,
    // Asked for once for each catalog that is made.
    now: () => {
      told.made++;
      return new Date();
    },
  };
  const loaded: FileStates = new Map();
  const catalog = new LiveCatalog(await loadCatalog(notingStates(source, loaded)));
  const watch = new CatalogWatch({
    catalog,
    source,
    loaded,
    onReloaded: () => {
      told.reloads++;
    },
    onProblems: ({ problems }) => told.problems.push(...problems),
  });
  return { watch, catalog, told };
}

const credentialOf = (catalog: LiveCatalog) => catalog.upstreams.get("acme")?.credential?.reveal();

describe("a watched catalog", () => {
  it("is not reloaded while its files are unchanged", async () => {
    const files = new Map([
      [PATH, catalogOf("one")],
      [CREDENTIAL, "first"],
    ]);
    const { watch, told } = await watching(files);
    const made = told.made;
    for (let poll = 0; poll < 5; poll++) await watch.reload();
    expect(told).toEqual({ reloads: 0, problems: [], made });
    files.set(PATH, catalogOf("two"));
    for (let poll = 0; poll < 5; poll++) await watch.reload();
    expect(told).toEqual({ reloads: 1, problems: [], made: made + 1 });
  });

  it("has what changed after it was loaded and before it was watched", async () => {
    const files = new Map([
      [PATH, catalogOf("one")],
      [CREDENTIAL, "first"],
    ]);
    const { watch, catalog, told } = await watching(files);
    files.set(PATH, catalogOf("two"));
    files.set(CREDENTIAL, "second");
    await watch.reload();
    expect(catalog.find("two")).not.toBeNull();
    expect(credentialOf(catalog)).toBe("second");
    expect(told.reloads).toBe(1);
  });

  it("uses a credential whose file has changed, and the former one when it changes back", async () => {
    const files = new Map([
      [PATH, catalogOf("one")],
      [CREDENTIAL, "first"],
    ]);
    const { watch, catalog, told } = await watching(files);
    for (const credential of ["second", "first"]) {
      files.set(CREDENTIAL, credential);
      await watch.reload();
      expect(credentialOf(catalog)).toBe(credential);
    }
    expect(told.reloads).toBe(2);
  });

  it("stays in force while the new one is invalid, and each new fault is reported once", async () => {
    const files = new Map([
      [PATH, catalogOf("one")],
      [CREDENTIAL, "first"],
    ]);
    const { watch, catalog, told } = await watching(files);
    const breaks = [
      () => files.delete(CREDENTIAL),
      () => files.set(PATH, "models: ["),
      () => files.delete(PATH),
      () => files.set(PATH, catalogOf("two")),
    ];
    for (const [index, breakIt] of breaks.entries()) {
      breakIt();
      await watch.reload();
      const problems = told.problems.length;
      expect(problems).toBeGreaterThan(index);
      await watch.reload();
      expect(told.problems).toHaveLength(problems);
      expect(catalog.find("one")).not.toBeNull();
      expect(credentialOf(catalog)).toBe("first");
    }
    files.set(CREDENTIAL, "third");
    await watch.reload();
    expect(catalog.find("one")).toBeNull();
    expect(catalog.find("two")).not.toBeNull();
    expect(credentialOf(catalog)).toBe("third");
    expect(told.reloads).toBe(1);
  });

  it("is loaded at the next check when its parser has failed, though the files are unchanged", async () => {
    const files = new Map([
      [PATH, catalogOf("one")],
      [CREDENTIAL, "first"],
    ]);
    let failures = 0;
    const parser: CatalogParser = {
      ...CATALOG_PARSER,
      parse: async (path, text) => {
        if (failures-- > 0) throw new Error("no thread can be started");
        return await CATALOG_PARSER.parse(path, text);
      },
    };
    const { watch, catalog, told } = await watching(files, parser);
    files.set(PATH, catalogOf("two"));
    failures = 1;
    await expect(watch.reload()).rejects.toThrow("no thread can be started");
    expect(catalog.find("one")).not.toBeNull();
    await watch.reload();
    expect(catalog.find("two")).not.toBeNull();
    expect(told).toMatchObject({ reloads: 1, problems: [] });
  });
});
