import { envelopeOf, Failure } from "../errors/failure.ts";
import type { Networks } from "../networks/networks.ts";
import type { Metrics } from "./metrics.ts";

/** Headers that only proxies add. */
const FORWARDED = ["x-forwarded-for", "forwarded", "x-real-ip"];

interface MetricsAccess {
  /** The networks that may read metrics. */
  readonly readers: Networks;
  /** The client's address, from the socket and the headers of trusted proxies. */
  readonly clientAddress: (request: Request, peer: string) => string | null;
  readonly isTrustedProxy: (peer: string) => boolean;
}

/** Answers `GET /metrics`, for the operator's networks only. */
export async function answerMetrics(
  metrics: Metrics,
  access: MetricsAccess,
  request: Request,
  peer: string,
): Promise<Response> {
  const address = access.clientAddress(request, peer);
  // Behind a proxy that is not in TRUSTED_PROXIES every request would appear to come from the proxy's address.
  const isHidden = !access.isTrustedProxy(peer) && FORWARDED.some((name) => request.headers.has(name));
  if (address === null || isHidden || !access.readers.contains(address)) {
    const failure = new Failure(
      "permission_denied",
      "This address may not read metrics. The operator can allow it in OSTIARY_METRICS_FROM.",
    );
    return Response.json(envelopeOf(failure), { status: failure.status });
  }
  const { text, type } = await metrics.read();
  return new Response(text, { headers: { "content-type": type, "cache-control": "no-store" } });
}
