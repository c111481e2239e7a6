import { type CatalogModel, DEFAULT_UPSTREAM, type Upstream, uncatalogued } from "../catalog/catalog.ts";
import { checkProvider } from "./check-provider.ts";
import type { Transport } from "./transport.ts";

/** A model server that people run on their own machine, at its usual address. */
interface LocalServer {
  readonly name: string;
  readonly port: number;
}

export const LOCAL_SERVERS: readonly LocalServer[] = [
  { name: "ollama", port: 11_434 },
  { name: "llama.cpp", port: 8_080 },
  { name: "vllm", port: 8_000 },
  { name: "lm-studio", port: 1_234 },
];

interface DiscoveryOptions {
  readonly servers: readonly LocalServer[];
  readonly transport: Transport;
  readonly timeoutMs: number;
  /** The service's own port, which is not asked. */
  readonly exceptPort: number;
  readonly now: Date;
}

interface Discovered {
  readonly upstreams: readonly Upstream[];
  readonly models: readonly CatalogModel[];
}

const MAX_MODELS = 200;

/** Asks local model servers at their default ports for their models. */
export async function discoverLocalModels(options: DiscoveryOptions): Promise<Discovered> {
  const candidates = options.servers.filter(({ port }) => port !== options.exceptPort);
  const found = await Promise.all(candidates.map((server) => askForModels(server, options)));
  return { upstreams: found.flatMap((one) => one.upstreams), models: found.flatMap((one) => one.models) };
}

/** None if no server listens there, or it is not a model server. */
async function askForModels(
  { name, port }: LocalServer,
  { transport, timeoutMs, now }: DiscoveryOptions,
): Promise<Discovered> {
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const { models } = await checkProvider(
    { dialect: "openai", baseUrl, credential: null },
    transport,
    timeoutMs,
  );
  if (models.length === 0) return { upstreams: [], models: [] };
  return {
    upstreams: [{ ...DEFAULT_UPSTREAM, name, dialect: "openai", baseUrl }],
    models: models.slice(0, MAX_MODELS).map((model) => uncatalogued(name, model, now)),
  };
}
