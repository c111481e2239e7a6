import type { Logger } from "pino";
import type { Failure } from "./failure.ts";
import { loggedOf } from "./problems.ts";

/** Lines of one kind in an interval. A full disk or an upstream that is away may fail thousands of requests in a second. */
const MAX_LINES = 20;
const INTERVAL_MS = 10_000;
/** The maximum number of kinds that are counted separately in an interval. All further ones count as one. */
const MAX_KINDS = 1_000;

/** What a failed request was for. Faults of one code that were for the same are of one kind. */
interface FaultSubject {
  /** The model that was asked for. */
  readonly model?: string | undefined;
  /** The procedure that was called. */
  readonly procedure?: string | undefined;
}

interface Kind {
  readonly code: string;
  readonly subject: FaultSubject;
  lines: number;
  /** Failed requests without a line. */
  left: number;
}

interface FaultLogParts {
  readonly log: Logger;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

/** Logs requests that failed by a fault that is not their client's, each on a line, and the number of those beyond a limit. */
export class FaultLog {
  readonly #parts: FaultLogParts;
  readonly #kinds = new Map<string, Kind>();
  #sinceMs = 0;

  constructor(parts: FaultLogParts) {
    this.#parts = parts;
  }

  /** `facts`: further fields of the line. */
  note(failure: Failure, subject: FaultSubject, facts: Readonly<Record<string, string>>): void {
    this.report();
    const kind = this.#kindOf(failure.code, subject);
    if (kind.lines >= MAX_LINES) {
      kind.left++;
      return;
    }
    kind.lines++;
    const level = failure.code === "internal_error" ? "error" : "warn";
    this.#parts.log[level]({ ...facts, ...subject, ...loggedOf(failure) }, "a request failed");
  }

  /** Logs how many requests have failed without a line, when an interval is over. Call it every few seconds. */
  report(): void {
    const { log, monotonicMs } = this.#parts;
    const nowMs = monotonicMs();
    if (nowMs - this.#sinceMs < INTERVAL_MS) return;
    this.#sinceMs = nowMs;
    for (const { code, subject, left } of this.#kinds.values()) {
      if (left > 0) log.warn({ code, ...subject, requests: left }, "further requests failed");
    }
    this.#kinds.clear();
  }

  #kindOf(code: string, subject: FaultSubject): Kind {
    const isFull = this.#kinds.size >= MAX_KINDS;
    const key = isFull ? "" : `${code} ${subject.model ?? ""} ${subject.procedure ?? ""}`;
    let kind = this.#kinds.get(key);
    if (kind === undefined) {
      kind = { code, subject: isFull ? {} : subject, lines: 0, left: 0 };
      this.#kinds.set(key, kind);
    }
    return kind;
  }
}
