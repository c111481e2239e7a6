import type { Credential } from "./credential.ts";
import type { ModelPrices } from "./prices.ts";

/** The models of the service, and the upstreams that serve them. */
export interface Catalog {
  readonly models: readonly CatalogModel[];
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** By id or alias. */
  find(name: string): CatalogModel | null;
  /** The upstreams that the routes of a model name: those of the catalog in which the model was found, if another one has replaced it. */
  upstreamsOf(model: CatalogModel): ReadonlyMap<string, Upstream>;
}

/** A model that requests can name, with everything that clients may know of it, and its routes. */
export interface CatalogModel {
  /** The id of the model, which requests name. */
  readonly id: string;
  /** Other names by which requests may name the model. */
  readonly aliases: readonly string[];
  /** The organization that made the model. */
  readonly ownedBy: string;
  /** When the model was added to the catalog, in Unix seconds. */
  readonly created: number;
  /** Whether the sandbox answers, without a real model. */
  readonly sandbox: boolean;
  /** The maximum tokens of prompt and answer together; `null`: unknown. */
  readonly contextTokens: number | null;
  /** The maximum tokens of one answer; `null`: unknown. */
  readonly maxOutputTokens: number | null;
  /** What the model reads and writes. */
  readonly modalities: Modalities;
  /** Prices in nano-USD per million tokens; `null`: free. */
  readonly prices: ModelPrices | null;
  /** The upstreams that serve the model, at least one. */
  readonly routes: readonly Route[];
}

/** The kinds of content that a model can read and write. */
export interface Modalities {
  /** What a prompt may contain. */
  readonly input: readonly Modality[];
  /** What an answer may contain. */
  readonly output: readonly Modality[];
}

/** All kinds of content. `file` stands for documents such as PDFs, and `embedding` for the vectors of an embedding model. */
export const MODALITIES = ["text", "image", "audio", "video", "file", "embedding"] as const;
type Modality = (typeof MODALITIES)[number];
export const TEXT_ONLY: Modalities = { input: ["text"], output: ["text"] };
const EMBEDDING: Modalities = { input: ["text"], output: ["embedding"] };

/** What a model of this name reads and writes, as far as a name tells: lists of providers name models only. */
export function modalitiesByName(name: string): Modalities {
  return /embed|minilm|\bbge-/i.test(name) ? EMBEDDING : TEXT_ONLY;
}

/** A way to a model: an upstream, and the name that it has for the model. */
export interface Route {
  /** Name of an upstream. */
  readonly upstream: string;
  /** What the upstream calls the model. */
  readonly model: string;
  /** Share of the requests that try this route first, relative to the model's other routes. */
  readonly weight: number;
}

/** A server that serves models: how to reach it, and the limits of its use. */
export interface Upstream {
  /** The name of the upstream in the catalog. */
  readonly name: string;
  /** The name of a dialect. */
  readonly dialect: string;
  /** Settings that only the dialect knows. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Whether the sandbox answers, without a real model. */
  readonly isSandbox: boolean;
  /** The URL up to the version, such as `https://api.openai.com/v1`. Empty: the dialect's own. */
  readonly baseUrl: string;
  /** `null`: requests carry no `Authorization`. */
  readonly credential: Credential | null;
  /** The timeouts of a request, in milliseconds. */
  readonly timeouts: TransportTimeouts;
  /** The maximum number of concurrent requests of this node to the upstream. */
  readonly maxConcurrency: number;
  /** The settings of its circuit breaker. */
  readonly breaker: BreakerSettings;
}

/** Timeouts of a request to an upstream, in milliseconds. */
export interface TransportTimeouts {
  /** Until the connection is established. */
  readonly connectMs: number;
  /** From the end of the request to the headers of the answer. */
  readonly firstByteMs: number;
  /** Between two chunks of the answer's body. */
  readonly idleMs: number;
  /** From the request to the end of the answer, however much of it arrives meanwhile. */
  readonly totalMs: number;
}

/** When the circuit breaker of an upstream opens, and for how long. */
export interface BreakerSettings {
  /** The number of consecutive failures that opens the breaker. */
  readonly failures: number;
  /** How many milliseconds the breaker stays open at first. The time doubles with each failed probe, up to a minute. */
  readonly openMs: number;
}

/** The settings of upstreams for which the catalog file has no others. */
export const DEFAULT_BREAKER: BreakerSettings = { failures: 5, openMs: 2_000 };
export const DEFAULT_TIMEOUTS: TransportTimeouts = {
  connectMs: 5_000,
  firstByteMs: 120_000,
  idleMs: 120_000,
  totalMs: 3_600_000,
};
export const DEFAULT_MAX_CONCURRENCY = 256;
/** Practically unlimited: the limits of each account bound its use of the sandbox, and accounts must not delay each other. */
export const SANDBOX_MAX_CONCURRENCY = 1_000_000;

/** What an upstream is unless the catalog says otherwise. */
export const DEFAULT_UPSTREAM = {
  settings: {},
  isSandbox: false,
  baseUrl: "",
  credential: null,
  timeouts: DEFAULT_TIMEOUTS,
  maxConcurrency: DEFAULT_MAX_CONCURRENCY,
  breaker: DEFAULT_BREAKER,
} as const;

/** A free model without a catalog file: `<owner>/<name>`, served by the upstream of the owner's name. */
export function uncatalogued(owner: string, name: string, now: Date): CatalogModel {
  return {
    id: `${owner}/${name}`,
    aliases: [],
    ownedBy: owner,
    created: Math.floor(now.getTime() / 1000),
    sandbox: false,
    contextTokens: null,
    maxOutputTokens: null,
    modalities: modalitiesByName(name),
    prices: null,
    routes: [{ upstream: owner, model: name, weight: 1 }],
  };
}

/** A catalog of checked models and upstreams: names are unique, routes lead somewhere. */
export function catalogOf(models: readonly CatalogModel[], upstreams: readonly Upstream[]): Catalog {
  const byName = new Map(
    models.flatMap((model) => [model.id, ...model.aliases].map((name) => [name, model])),
  );
  const upstreamByName = new Map(upstreams.map((upstream) => [upstream.name, upstream]));
  return {
    models,
    upstreams: upstreamByName,
    find: (name) => byName.get(name) ?? null,
    upstreamsOf: () => upstreamByName,
  };
}
