import type { Usage } from "../tokens/token-estimate.ts";
import { TransportError } from "../upstream/transport.ts";

/** No route led to an answer. */
export class RoutesFailed extends Error {
  override readonly name = "RoutesFailed";
  /** The upstream of the last route; `null` if none was tried. */
  readonly upstream: string | null;
  readonly reason: unknown;
  /** What the service has counted of a request whose client has left it with its upstream; `null`: nothing. */
  readonly counted: Usage | null;

  constructor(upstream: string | null, reason: unknown, counted: Usage | null = null) {
    const message = upstream === null ? "no upstream could be tried" : `no answer from upstream ${upstream}`;
    super(message, { cause: reason });
    this.upstream = upstream;
    this.reason = reason;
    this.counted = counted;
  }

  /** Whether the request was aborted after an upstream had got it. */
  get wasAbortedAtUpstream(): boolean {
    const { reason } = this;
    return reason instanceof TransportError && reason.fault === "aborted" && reason.wasSent;
  }
}
