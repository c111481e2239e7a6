import type { Config } from "../config/config.ts";
import type { Listener, ListenerOptions, Served } from "../serve/listener.ts";
import { NO_TRACING, type Tracing } from "../tracing/tracing.ts";
import type { Transport } from "../upstream/transport.ts";
import { listenFailure } from "./startup-failure.ts";

// What differs from runtime to runtime, or is loaded only where it is asked for.

const isDeno = "Deno" in globalThis;

export function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/** The packages are loaded only where there is somewhere to send traces to. */
export async function openTracing(
  { traces, serviceName }: Config,
  { version, id }: { readonly version: string; readonly id: string },
): Promise<Tracing> {
  if (!traces) return NO_TRACING;
  const { openTelemetry } = await import("../tracing/open-telemetry.ts");
  return openTelemetry({ serviceName, serviceVersion: version, instanceId: id });
}

export async function openTransport(): Promise<Transport> {
  if (isDeno) return new (await import("../upstream/http/fetch-transport.ts")).FetchTransport();
  return new (await import("../upstream/http/undici-transport.ts")).UndiciTransport();
}

export async function listen(served: Served, { host, port }: ListenerOptions): Promise<Listener> {
  try {
    if (isDeno) return await (await import("../serve/deno.ts")).serveOnDeno(served, { host, port });
    return await (await import("../serve/node.ts")).serveOnNode(served, { host, port });
  } catch (error) {
    throw listenFailure(error, host, port);
  }
}

export async function failureOf(check: PromiseLike<unknown>, part: string): Promise<string | null> {
  try {
    await check;
    return null;
  } catch {
    return `the ${part} does not answer`;
  }
}

/** Listening on every address is reached by the loopback one; IPv6 addresses stand in brackets. */
export function hostForUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
