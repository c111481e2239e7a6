import { createHash } from "node:crypto";
import { type Catalog, type CatalogModel, catalogOf, type Upstream } from "./catalog.ts";
import { CatalogError, type CatalogSource, loadCatalog } from "./load-catalog.ts";

/** A catalog that can be replaced at run time. Running requests keep the models that they have found, and the upstreams of these. */
export class LiveCatalog implements Catalog {
  #current: Catalog;
  /** The catalog of each model: a running request may use a model of an earlier one. */
  readonly #catalogs = new WeakMap<CatalogModel, Catalog>();
  /** A model that stays in the catalog keeps its date. */
  readonly #created = new Map<string, number>();

  constructor(first: Catalog) {
    this.#current = first;
    this.#remember(first);
    this.#keepUpstreams(first);
  }

  get models(): readonly CatalogModel[] {
    return this.#current.models;
  }

  get upstreams(): ReadonlyMap<string, Upstream> {
    return this.#current.upstreams;
  }

  find(name: string): CatalogModel | null {
    return this.#current.find(name);
  }

  upstreamsOf(model: CatalogModel): ReadonlyMap<string, Upstream> {
    return (this.#catalogs.get(model) ?? this.#current).upstreams;
  }

  replace(next: Catalog): void {
    this.#remember(next);
    const models = next.models.map((model) => ({
      ...model,
      created: this.#created.get(model.id) ?? model.created,
    }));
    this.#current = catalogOf(models, [...next.upstreams.values()]);
    this.#keepUpstreams(this.#current);
  }

  #keepUpstreams(catalog: Catalog): void {
    for (const model of catalog.models) this.#catalogs.set(model, catalog);
  }

  #remember({ models }: Catalog): void {
    for (const { id, created } of models) if (!this.#created.has(id)) this.#created.set(id, created);
  }
}

/** What was read of each file that a catalog comes from: changes with its text or with the error. Credentials are not kept. */
export type FileStates = Map<string, string>;

/** Returns the same source, which notes in `states` the state of each file that is read. */
export function notingStates(source: CatalogSource, states: FileStates): CatalogSource {
  const readFile = async (path: string) => {
    const { text, state } = await readState(source, path);
    states.set(path, state);
    return text();
  };
  return { ...source, readFile };
}

interface CatalogWatchParts {
  readonly catalog: LiveCatalog;
  readonly source: CatalogSource;
  /** The files as they were when the catalog was loaded: what has changed since is loaded at the first {@link CatalogWatch.reload}. */
  readonly loaded: FileStates;
  readonly onReloaded: (catalog: Catalog) => void;
  /** Called once for each version of the file that has errors or can't be read. The catalog stays as it was. */
  readonly onProblems: (error: CatalogError) => void;
}

/** Reloads a catalog when its file or the credential files that it names change. */
export class CatalogWatch {
  readonly #parts: CatalogWatchParts;
  /** The states of the files that were last loaded, whether or not they were valid. */
  #seen: FileStates;
  #problems = 0;
  #reloading: Promise<void> = Promise.resolve();

  constructor(parts: CatalogWatchParts) {
    this.#parts = parts;
    this.#seen = parts.loaded;
  }

  /** How many problems the file has as it is now. With any, the service would not start. */
  get problems(): number {
    return this.#problems;
  }

  /**
   * Reads the file, and replaces the catalog if the file has changed and is valid. Call it every few seconds: polling also
   * detects files that are replaced, linked or mounted.
   */
  reload(): Promise<void> {
    // A failed reload must not prevent later ones.
    this.#reloading = this.#reloading.catch(() => {}).then(() => this.#reload());
    return this.#reloading;
  }

  async #reload(): Promise<void> {
    const { catalog, source, onReloaded, onProblems } = this.#parts;
    // Reading files is cheap, but parsing a large one would delay every request.
    if (await this.#isUnchanged()) return;
    this.#seen = new Map();
    try {
      const next = await loadCatalog(notingStates(source, this.#seen));
      catalog.replace(next);
      this.#problems = 0;
      onReloaded(next);
    } catch (error) {
      if (!(error instanceof CatalogError)) {
        // The files are not at fault, so the next check loads them although they are unchanged.
        this.#seen.set(source.path, "");
        throw error;
      }
      this.#problems = error.problems.length;
      onProblems(error);
    }
  }

  async #isUnchanged(): Promise<boolean> {
    const { source } = this.#parts;
    for (const [path, state] of this.#seen) if ((await readState(source, path)).state !== state) return false;
    return true;
  }
}

async function readState(
  source: CatalogSource,
  path: string,
): Promise<{ readonly text: () => string; readonly state: string }> {
  try {
    const text = await source.readFile(path);
    return { text: () => text, state: createHash("sha256").update(text).digest("hex") };
  } catch (error) {
    const fail = () => {
      throw error;
    };
    return { text: fail, state: String(error) };
  }
}
