import type { EmbeddingModelV4, LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { Upstream } from "../../catalog/catalog.ts";
import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import type { ConversationLimits } from "../expressible.ts";

/** A provider, as a package of the AI SDK creates it from its settings. */
export interface Provider {
  languageModel(id: string): LanguageModelV4;
  embeddingModel?(id: string): EmbeddingModelV4;
}

export interface ProviderSettings {
  readonly baseURL?: string;
  readonly apiKey: string;
  readonly fetch: typeof fetch;
}

type ProviderOptions = SharedV4ProviderOptions[string];

/** What a provider's package can't express, and how it is told what it can. */
export interface ProviderLimits extends ConversationLimits {
  /** The name of its own options. */
  readonly optionsName: string;
  /** Whether it takes instructions within a conversation, and not only at its beginning. */
  readonly hasSystemAnywhere: boolean;
  /** Its options for thinking with a budget of tokens, or as much as it sees fit; `null` if there are none. */
  readonly thinkingOf: ((budgetTokens: number | null) => ProviderOptions) | null;
  /** Its option for the number of an embedding's dimensions; `null` if there is none. */
  readonly dimensionsOption: string | null;
}

/** The limits of a provider that is not known here. Fields that its package warns of are refused when it does. */
export const FEW_LIMITS: ProviderLimits = {
  optionsName: "",
  unsupported: new Set(),
  maxTemperature: 2,
  hasSystemAnywhere: true,
  hasOneCallAtATime: false,
  thinkingOf: null,
  dimensionsOption: null,
};

/** The settings of an upstream that is reached through a package of the AI SDK. */
export const AI_SDK_SETTINGS = {
  baseUrl: UPSTREAM_SETTINGS.baseUrl.optional(),
  ...UPSTREAM_SETTINGS.credential,
  ...UPSTREAM_SETTINGS.limits,
};

/** Which provider speaks to an upstream. */
export interface ProviderSource {
  readonly limits: ProviderLimits;
  /** What {@link ProviderSource.load} is given: upstreams of one name share a provider. */
  readonly nameOf: (upstream: Upstream) => string;
  /** The base URL of upstreams without one; absent: the package's own, which it may read from the environment. */
  readonly defaultBaseUrl?: string;
  /** Loads it, when it is needed for the first time. @throws {Error} when it is not installed, or no provider. */
  readonly load: (name: string) => Promise<(settings: ProviderSettings) => Provider>;
}

/** What is wrong with a provider package, for the operator; `null` when it can be used. */
export async function packageProblem(name: string): Promise<string | null> {
  try {
    await loadPackage(name);
    return null;
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    if (isMissing || !(error instanceof Error)) {
      return `${name} is not installed. Run \`npm install ${name}\` beside the server.`;
    }
    return error instanceof NotAProvider ? error.message : `${name} cannot be loaded: ${error.name}`;
  }
}

class NotAProvider extends Error {
  override readonly name = "NotAProvider";
}

/** Loads a package. @throws {Error} when it is not installed, or none of the AI SDK's. */
export async function loadPackage(name: string): Promise<(settings: ProviderSettings) => Provider> {
  const module: Record<string, unknown> = await import(name);
  // `createMistral`, `createGroq`: each package has one such function, and names it after itself.
  const create = Object.entries(module).find(
    ([exported, value]) => exported.startsWith("create") && typeof value === "function",
  )?.[1];
  if (typeof create !== "function") throw new NotAProvider(`${name} is not a provider package of the AI SDK`);
  return (settings) => create(settings);
}
