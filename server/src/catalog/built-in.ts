import {
  type CatalogModel,
  DEFAULT_UPSTREAM,
  type Modalities,
  SANDBOX_MAX_CONCURRENCY,
  TEXT_ONLY,
  type Upstream,
  uncatalogued,
} from "./catalog.ts";

const SANDBOX_MODELS: readonly (readonly [string, Modalities])[] = [
  ["echo", TEXT_ONLY],
  ["lorem", TEXT_ONLY],
  ["reasoning", TEXT_ONLY],
  ["embedding", { input: ["text"], output: ["embedding"] }],
];

export const SANDBOX_UPSTREAM: Upstream = {
  ...DEFAULT_UPSTREAM,
  name: "sandbox",
  dialect: "sandbox",
  isSandbox: true,
  baseUrl: "sandbox:",
  maxConcurrency: SANDBOX_MAX_CONCURRENCY,
};

/** The models of a service without a catalog file. */
export function sandboxModels(now: Date): readonly CatalogModel[] {
  return SANDBOX_MODELS.map(([name, modalities]) => ({
    ...uncatalogued(SANDBOX_UPSTREAM.name, name, now),
    sandbox: true,
    modalities,
  }));
}
