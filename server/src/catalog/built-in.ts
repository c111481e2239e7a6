import {
  type CatalogModel,
  DEFAULT_BREAKER,
  DEFAULT_TIMEOUTS,
  type Modalities,
  SANDBOX_MAX_CONCURRENCY,
  TEXT_ONLY,
  type Upstream,
} from "./catalog.ts";

const SANDBOX_MODELS: readonly (readonly [string, Modalities])[] = [
  ["echo", TEXT_ONLY],
  ["lorem", TEXT_ONLY],
  ["embedding", { input: ["text"], output: ["embedding"] }],
];

export const SANDBOX_UPSTREAM: Upstream = {
  name: "sandbox",
  dialect: "sandbox",
  settings: {},
  isSandbox: true,
  baseUrl: "sandbox:",
  credential: null,
  timeouts: DEFAULT_TIMEOUTS,
  maxConcurrency: SANDBOX_MAX_CONCURRENCY,
  breaker: DEFAULT_BREAKER,
};

/** The models of a service without a catalog file. */
export function sandboxModels(now: Date): readonly CatalogModel[] {
  return SANDBOX_MODELS.map(([name, modalities]) => ({
    id: `sandbox/${name}`,
    aliases: [],
    ownedBy: "sandbox",
    created: Math.floor(now.getTime() / 1000),
    sandbox: true,
    contextTokens: null,
    maxOutputTokens: null,
    modalities,
    prices: null,
    routes: [{ upstream: SANDBOX_UPSTREAM.name, model: name, weight: 1 }],
  }));
}
