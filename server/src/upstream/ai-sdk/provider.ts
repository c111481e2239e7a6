import type { EmbeddingModelV4, LanguageModelV4 } from "@ai-sdk/provider";
import type { Upstream } from "../../catalog/catalog.ts";

/** What a package of the AI SDK makes of its settings. */
export interface Provider {
  languageModel(id: string): LanguageModelV4;
  embeddingModel?(id: string): EmbeddingModelV4;
}

export interface ProviderSettings {
  readonly baseURL?: string;
  readonly apiKey: string;
  readonly fetch: typeof fetch;
}

/** What a provider can't be told: such a request is refused, for its answer would be another than the one asked for. */
export interface ProviderLimits {
  /** Under which name its own options go. */
  readonly optionsName: string;
  /** Fields of the request that it has nothing for. */
  readonly unsupported: ReadonlySet<string>;
  readonly mostTemperature: number;
  /** Whether it takes `temperature` or `top_p`, not both. */
  readonly hasOneOfTemperatureAndTopP: boolean;
  /** Whether it takes no temperature, `top_p` or forced call while it thinks. */
  readonly thinksAlone: boolean;
  /** Whether it can be asked for JSON of no particular schema. */
  readonly hasJsonWithoutSchema: boolean;
  /** Its options for a request that forbids parallel calls; `null`: it can't be told. */
  readonly oneCallAtATime: Readonly<Record<string, boolean>> | null;
  /** Its option for the number of an embedding's dimensions; `null`: it can't be told. */
  readonly dimensionsOption: string | null;
}

const ANTHROPIC: ProviderLimits = {
  optionsName: "anthropic",
  unsupported: new Set(["seed", "presence_penalty", "frequency_penalty"]),
  mostTemperature: 1,
  hasOneOfTemperatureAndTopP: true,
  thinksAlone: true,
  hasJsonWithoutSchema: false,
  oneCallAtATime: { disableParallelToolUse: true },
  dimensionsOption: null,
};

const GOOGLE: ProviderLimits = {
  optionsName: "google",
  unsupported: new Set(["presence_penalty", "frequency_penalty"]),
  mostTemperature: 2,
  hasOneOfTemperatureAndTopP: false,
  thinksAlone: false,
  hasJsonWithoutSchema: true,
  oneCallAtATime: null,
  dimensionsOption: "outputDimensionality",
};

/** Of a package that is not known here: what it warns of is refused when it does. */
const OTHER: ProviderLimits = {
  optionsName: "",
  unsupported: new Set(),
  mostTemperature: 2,
  hasOneOfTemperatureAndTopP: false,
  thinksAlone: false,
  hasJsonWithoutSchema: true,
  oneCallAtATime: null,
  dimensionsOption: null,
};

export function limitsOf({ dialect }: Upstream): ProviderLimits {
  if (dialect === "anthropic") return ANTHROPIC;
  return dialect === "google" ? GOOGLE : OTHER;
}

/**
 * What makes the provider of an upstream. Packages are loaded when they are needed for the first time.
 *
 * @throws {Error} when the package is not installed, or none of the AI SDK's.
 */
export async function loadProvider(upstream: Upstream): Promise<(settings: ProviderSettings) => Provider> {
  switch (upstream.dialect) {
    case "anthropic":
      return (await import("@ai-sdk/anthropic")).createAnthropic;
    case "google":
      return (await import("@ai-sdk/google")).createGoogleGenerativeAI;
    default:
      return loadPackage(upstream.package ?? "");
  }
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

async function loadPackage(name: string): Promise<(settings: ProviderSettings) => Provider> {
  const module: Record<string, unknown> = await import(name);
  // `createMistral`, `createGroq`: each package has one such function, and names it after itself.
  const create = Object.entries(module).find(
    ([exported, value]) => exported.startsWith("create") && typeof value === "function",
  )?.[1];
  if (typeof create !== "function") throw new NotAProvider(`${name} is not a provider package of the AI SDK`);
  return (settings) => create(settings);
}
