import process from "node:process";
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import type { Listener, ListenerOptions, Served } from "../http/listener.ts";
import type { Tracing } from "../tracing/open-telemetry.ts";
import { listenFailure, type PortSetting } from "./startup-failure.ts";

// The parts that differ by runtime, or that are loaded only if they are configured.

export const isDeno = "Deno" in globalThis;

/** The runtime and its version, such as `node 20.19.0`. */
export const RUNTIME = isDeno ? `deno ${process.versions.deno}` : `node ${process.versions.node}`;

/** Opens tracing. Its packages are loaded only if an endpoint for traces is configured. */
export async function openTracing(
  { traces, otlpHeaders, serviceName }: Config,
  { version, id, log }: { readonly version: string; readonly id: string; readonly log: Logger },
): Promise<Tracing> {
  if (!traces) return { ended: () => {}, close: async () => {} };
  const { openTelemetry } = await import("../tracing/open-telemetry.ts");
  return openTelemetry({
    serviceName,
    serviceVersion: version,
    instanceId: id,
    otlpHeaders,
    onChange: (reason) => {
      if (reason === null) log.info("the receiver of traces accepts spans again");
      else log.error({ reason }, "the receiver of traces does not accept spans: they are lost until it does");
    },
  });
}

/** `portSetting` is the setting that has the port. @throws {StartupFailure} when the address can't be listened on. */
export async function listen(
  served: Served,
  options: ListenerOptions,
  portSetting: PortSetting,
): Promise<Listener> {
  try {
    if (isDeno) return await (await import("../http/deno.ts")).serveOnDeno(served, options);
    return await (await import("../http/node.ts")).serveOnNode(served, options);
  } catch (error) {
    throw await listenFailure(error, options, portSetting);
  }
}
