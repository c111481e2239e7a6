import { createHash } from "node:crypto";
import { type Catalog, type CatalogModel, catalogOf, type Upstream } from "./catalog.ts";
import { CatalogError, type CatalogSource, loadCatalog } from "./load.ts";

/** A catalog that can be replaced at run time. Running requests keep the models that they have found. */
export class LiveCatalog implements Catalog {
  #current: Catalog;
  /** A model that stays in the catalog keeps its date. */
  readonly #created = new Map<string, number>();

  constructor(first: Catalog) {
    this.#current = first;
    this.#remember(first);
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

  replace(next: Catalog): void {
    this.#remember(next);
    const models = next.models.map((model) => ({
      ...model,
      created: this.#created.get(model.id) ?? model.created,
    }));
    this.#current = catalogOf(models, [...next.upstreams.values()]);
  }

  #remember({ models }: Catalog): void {
    for (const { id, created } of models) if (!this.#created.has(id)) this.#created.set(id, created);
  }
}

export interface CatalogWatchParts {
  readonly catalog: LiveCatalog;
  readonly source: CatalogSource;
  readonly onReloaded: (catalog: Catalog) => void;
  /** Called once for each version of the file that has errors. The catalog stays as it was. */
  readonly onProblems: (problems: readonly string[]) => void;
}

/** Reloads a catalog when its file or the credential files that it names change. */
export class CatalogWatch {
  readonly #parts: CatalogWatchParts;
  /** The states of the files that were last loaded, whether or not they were valid. */
  #seen: ReadonlyMap<string, string> | null = null;
  #reloading: Promise<void> = Promise.resolve();

  constructor(parts: CatalogWatchParts) {
    this.#parts = parts;
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
    const isFirst = this.#seen === null;
    // Reading files is cheap, but parsing a large one would delay every request.
    if (this.#seen !== null && (await this.#isUnchanged(this.#seen))) return;
    const seen = new Map<string, string>();
    this.#seen = seen;
    const readFile = async (path: string) => {
      const { text, state } = await this.#read(path);
      seen.set(path, state);
      return text();
    };
    try {
      const next = await loadCatalog({ ...source, readFile });
      // The service was started with the first state.
      if (isFirst) return;
      catalog.replace(next);
      onReloaded(next);
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      if (!isFirst) onProblems(error.problems);
    }
  }

  async #isUnchanged(seen: ReadonlyMap<string, string>): Promise<boolean> {
    for (const [path, state] of seen) if ((await this.#read(path)).state !== state) return false;
    return true;
  }

  /** Reads a file. `state` changes with its text or with the error. Credentials are not kept. */
  async #read(path: string): Promise<{ readonly text: () => string; readonly state: string }> {
    try {
      const text = await this.#parts.source.readFile(path);
      return { text: () => text, state: createHash("sha256").update(text).digest("hex") };
    } catch (error) {
      const fail = () => {
        throw error;
      };
      return { text: fail, state: String(error) };
    }
  }
}
