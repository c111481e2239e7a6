import type { AuditEntry } from "../contract/entry.ts";

/** Reports ended requests as spans. */
export interface Tracing {
  /** `traceparent` is the client's header (W3C Trace Context), if it sent one. */
  ended(entry: AuditEntry, traceparent: string | null): void;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

export const NO_TRACING: Tracing = { ended: () => {}, close: async () => {} };
