import type { Networks } from "../access/networks.ts";
import { envelopeOf, Failure } from "../errors/failure.ts";
import type { Metrics } from "./metrics.ts";

/** What only a proxy adds. */
const FORWARDED = ["x-forwarded-for", "forwarded", "x-real-ip"];

export interface MetricsAccess {
  /** Who may read: the operator's network. */
  readonly readers: Networks;
  /** The client's address, from the socket's and what trusted proxies say. */
  readonly clientAddress: (request: Request, peer: string) => string | null;
  readonly isTrustedProxy: (peer: string) => boolean;
}

/** `GET /metrics`, for the operator's network alone. */
export async function answerMetrics(
  metrics: Metrics,
  access: MetricsAccess,
  request: Request,
  peer: string,
): Promise<Response> {
  const address = access.clientAddress(request, peer);
  // Through a proxy that is not in TRUSTED_PROXIES everybody would seem to come from where it is.
  const isHidden = !access.isTrustedProxy(peer) && FORWARDED.some((name) => request.headers.has(name));
  if (address === null || isHidden || !access.readers.contains(address)) {
    const failure = new Failure(
      "permission_denied",
      "Metrics are for the operator's network. The operator can add an address to OSTIARY_METRICS_FROM.",
    );
    return Response.json(envelopeOf(failure), { status: failure.status });
  }
  const { text, type } = await metrics.read();
  return new Response(text, { headers: { "content-type": type, "cache-control": "no-store" } });
}
