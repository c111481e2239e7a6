import { createHash } from "node:crypto";
import type { Catalog, CatalogModel, Upstream } from "./catalog.ts";
import { CatalogError, type CatalogSource, loadCatalog } from "./load.ts";

/** A catalog that takes the place of another while requests go on: who has looked a model up keeps what was found. */
export class LiveCatalog implements Catalog {
  #current: Catalog;
  /** A model that the new catalog has, too, is as old as it was. */
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
    const byId = new Map(models.map((model) => [model.id, model]));
    this.#current = {
      models,
      upstreams: next.upstreams,
      find: (name) => byId.get(next.find(name)?.id ?? "") ?? null,
    };
  }

  #remember({ models }: Catalog): void {
    for (const { id, created } of models) if (!this.#created.has(id)) this.#created.set(id, created);
  }
}

export interface CatalogWatchParts {
  readonly catalog: LiveCatalog;
  readonly source: CatalogSource;
  readonly onReloaded: (catalog: Catalog) => void;
  /** What is wrong with the file, once for each state of it. The catalog stays as it was. */
  readonly onProblems: (problems: readonly string[]) => void;
}

/** Keeps a catalog like its file, and the credentials like the files that it names. */
export class CatalogWatch {
  readonly #parts: CatalogWatchParts;
  /** Of all that was read for the catalog that is in force, or was refused. */
  #seen: string | null = null;
  #looking: Promise<void> = Promise.resolve();

  constructor(parts: CatalogWatchParts) {
    this.#parts = parts;
  }

  /**
   * Reads the file again, and takes its catalog if it has changed and nothing is wrong with it. To be called every few
   * seconds: files that are replaced, linked anew or mounted are all alike to who reads them.
   */
  look(): Promise<void> {
    // One that failed keeps no later one from looking.
    this.#looking = this.#looking.catch(() => {}).then(() => this.#look());
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { catalog, source, onReloaded, onProblems } = this.#parts;
    const digest = createHash("sha256");
    const readFile = async (path: string) => {
      const text = await source.readFile(path);
      digest.update(`${path}\0${text}\0`);
      return text;
    };
    try {
      const next = await loadCatalog({ ...source, readFile });
      if (!this.#isNews(digest.digest("hex"))) return;
      catalog.replace(next);
      onReloaded(next);
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      if (this.#isNews(`${digest.digest("hex")} ${error.message}`)) onProblems(error.problems);
    }
  }

  #isNews(state: string): boolean {
    const isFirst = this.#seen === null;
    const isNews = this.#seen !== state;
    this.#seen = state;
    // The first state is the one that the service was started with.
    return isNews && !isFirst;
  }
}
