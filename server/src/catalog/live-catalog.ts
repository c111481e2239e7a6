import { createHash } from "node:crypto";
import type { Catalog, CatalogModel, Upstream } from "./catalog.ts";
import type { DialectSettings } from "./catalog-file.ts";
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

/** What a dialect has said of an upstream's settings, and how it is asked again. */
interface SeenProblem {
  readonly ask: () => Promise<string | null>;
  readonly problem: string | null;
}

/** The same dialect, which notes what it says. */
function recordingProblems(dialect: DialectSettings, seen: SeenProblem[]): DialectSettings {
  const { problemOf } = dialect;
  if (problemOf === undefined) return dialect;
  return {
    ...dialect,
    problemOf: async (settings) => {
      const problem = await problemOf(settings);
      seen.push({ ask: () => problemOf(settings), problem });
      return problem;
    },
  };
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
  /** The files that the catalog in force, or one that was refused, was made from, as they were. */
  #seen: ReadonlyMap<string, string> | null = null;
  /** The same of what dialects found wrong with the machine, such as packages that were not installed. */
  #seenProblems: readonly SeenProblem[] = [];
  #reloading: Promise<void> = Promise.resolve();

  constructor(parts: CatalogWatchParts) {
    this.#parts = parts;
  }

  /**
   * Reads the file again, and takes its catalog if it has changed and nothing is wrong with it. To be called every few
   * seconds: files that are replaced, linked anew or mounted are all alike to who reads them.
   */
  reload(): Promise<void> {
    // One that failed keeps no later one from looking.
    this.#reloading = this.#reloading.catch(() => {}).then(() => this.#reload());
    return this.#reloading;
  }

  async #reload(): Promise<void> {
    const { catalog, source, onReloaded, onProblems } = this.#parts;
    const isFirst = this.#seen === null;
    // To read files costs little; to make sense of a large one would hold up every request meanwhile.
    if (this.#seen !== null && (await this.#isUnchanged(this.#seen))) return;
    const seen = new Map<string, string>();
    this.#seen = seen;
    const seenProblems: SeenProblem[] = [];
    this.#seenProblems = seenProblems;
    const readFile = async (path: string) => {
      const { text, state } = await this.#read(path);
      seen.set(path, state);
      return text();
    };
    try {
      const dialects = source.dialects.map((dialect) => recordingProblems(dialect, seenProblems));
      const next = await loadCatalog({ ...source, readFile, dialects });
      // The first state is the one that the service was started with.
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
    for (const { ask, problem } of this.#seenProblems) if ((await ask()) !== problem) return false;
    return true;
  }

  /** A file's text, or the failure to read it, and what tells either from another. Credentials are not kept. */
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
