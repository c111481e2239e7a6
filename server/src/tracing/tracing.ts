import type { AuditEntry } from "../contract/entry.ts";

/** Whoever is told of requests that have ended, as spans. */
export interface Tracing {
  /** `traceparent`: what the client sent of its own trace (W3C Trace Context), if anything. */
  ended(entry: AuditEntry, traceparent: string | null): void;
  /** Sends what is left. */
  close(): Promise<void>;
}

export const NO_TRACING: Tracing = { ended: () => {}, close: async () => {} };
