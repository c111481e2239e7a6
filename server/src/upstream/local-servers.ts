import * as z from "zod";
import { type CatalogModel, DEFAULT_UPSTREAM, type Upstream, uncatalogued } from "../catalog/catalog.ts";
import { type Transport, TransportError } from "./transport.ts";

/** A model server that people run on their own machine, at its usual address. */
export interface LocalServer {
  readonly name: string;
  readonly port: number;
}

export const LOCAL_SERVERS: readonly LocalServer[] = [
  { name: "ollama", port: 11_434 },
  { name: "llama.cpp", port: 8_080 },
  { name: "vllm", port: 8_000 },
  { name: "lm-studio", port: 1_234 },
];

export interface DiscoveryOptions {
  readonly servers: readonly LocalServer[];
  readonly transport: Transport;
  readonly timeoutMs: number;
  /** The service's own port, which is not asked. */
  readonly exceptPort: number;
  readonly now: Date;
}

export interface Discovered {
  readonly upstreams: readonly Upstream[];
  readonly models: readonly CatalogModel[];
}

const MAX_LIST_BYTES = 1024 * 1024;
const MAX_MODELS = 200;

const modelList = z.object({ data: z.array(z.object({ id: z.string().min(1).max(200) })) });

/** Asks local model servers at their default ports for their models. */
export async function discoverLocalModels(options: DiscoveryOptions): Promise<Discovered> {
  const candidates = options.servers.filter(({ port }) => port !== options.exceptPort);
  const found = await Promise.all(candidates.map((server) => askForModels(server, options)));
  return { upstreams: found.flatMap((one) => one.upstreams), models: found.flatMap((one) => one.models) };
}

async function askForModels(server: LocalServer, options: DiscoveryOptions): Promise<Discovered> {
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  const names = await listModels(baseUrl, options);
  if (names.length === 0) return { upstreams: [], models: [] };
  const upstream: Upstream = { ...DEFAULT_UPSTREAM, name: server.name, dialect: "openai", baseUrl };
  const models = names.slice(0, MAX_MODELS).map((name) => uncatalogued(server.name, name, options.now));
  return { upstreams: [upstream], models };
}

async function listModels(baseUrl: string, { transport, timeoutMs }: DiscoveryOptions): Promise<string[]> {
  try {
    const response = await transport.send({
      method: "GET",
      url: `${baseUrl}/models`,
      headers: { accept: "application/json" },
      body: null,
      signal: AbortSignal.timeout(timeoutMs),
      timeouts: { connectMs: timeoutMs, firstByteMs: timeoutMs, idleMs: timeoutMs },
    });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body) {
      bytes += chunk.length;
      if (bytes > MAX_LIST_BYTES) return [];
      chunks.push(chunk);
    }
    if (response.status !== 200) return [];
    const parsed = modelList.safeParse(JSON.parse(Buffer.concat(chunks).toString("utf8")));
    return parsed.success ? parsed.data.data.map((model) => model.id) : [];
  } catch (error) {
    // No server listens there, or it is not a model server.
    if (error instanceof TransportError || error instanceof SyntaxError) return [];
    throw error;
  }
}
