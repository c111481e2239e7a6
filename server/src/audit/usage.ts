import { setImmediate } from "node:timers/promises";
import {
  intervalStart,
  MAX_USAGE_DAYS,
  type UsageInterval,
} from "../../../sdk/src/contract/time-intervals.ts";
import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";
import type { AccountId } from "../contract/account.ts";
import type { KeyUuid } from "../contract/key.ts";
import type { Reader, Reads } from "../database/reads.ts";
import { Failure } from "../errors/failure.ts";
import type { Recorder } from "./recorder.ts";
import type { PostgresUsage } from "./usage-store.ts";

export type { UsageInterval };

type UsageGrouping = "none" | "model" | "key";
type ServiceUsageGrouping = "none" | "model" | "account";

/** The usage of a group of requests. */
export interface UsageTotals {
  /** The number of requests, including refused ones. */
  readonly requests: number;
  /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
  readonly errors: number;
  /** The tokens of the prompts. */
  readonly promptTokens: number;
  /** The tokens of the answers. */
  readonly completionTokens: number;
  /** The part of the prompts' tokens that an upstream read from its cache. */
  readonly cachedTokens: number;
  /** The cost in nano-USD. */
  readonly costNanoUsd: bigint;
}

export interface UsageRow extends UsageTotals {
  /** When the interval begins. */
  readonly start: Date;
  /**
   * The model; `null` unless rows are grouped by model. It is empty for requests that named none, and `unknown model` for all models
   * that the catalog does not have.
   */
  readonly model: string | null;
  /** The key; `null` unless rows are grouped by key. */
  readonly key: {
    /** The id of the key, a UUID. */
    readonly id: KeyUuid;
    /** Last 4 characters of the key string. */
    readonly keyId: string;
    /** The name of the key. */
    readonly name: string;
  } | null;
  /** Whether the row sums up the models or keys without rows of their own. Neither is named then. */
  readonly isOther: boolean;
}

/** A row of the whole service's usage. */
export interface ServiceUsageRow extends UsageTotals {
  /** When the interval begins. */
  readonly start: Date;
  /**
   * The model; `null` unless rows are grouped by model. It is empty for requests that named none, and `unknown model` for all models
   * that the catalog does not have.
   */
  readonly model: string | null;
  /** The account; `null` unless rows are grouped by account. */
  readonly account: {
    /** The id of the account, a UUID. */
    readonly id: AccountId;
    /** The name of the account. */
    readonly name: string;
  } | null;
  /** Whether the row sums up the models or accounts without rows of their own. Neither is named then. */
  readonly isOther: boolean;
}

interface UsageSpan {
  /** Included, and rounded down to the beginning of an interval. */
  readonly from: Date;
  /** Not included, and rounded up to the end of an interval, so that the present moment includes the present interval. */
  readonly to: Date;
  readonly interval: UsageInterval;
  /** The time zone of the intervals, such as `Europe/Berlin`. */
  readonly timeZone: string;
}

/** A period of whole intervals. */
export interface WholeSpan extends UsageSpan {
  /** When each interval begins, in order of time. */
  readonly starts: readonly Date[];
}

/** The requests that are counted. Omitted: all. */
export interface UsageFilter {
  readonly key?: KeyUuid | undefined;
  readonly model?: string | undefined;
}

export interface UsageQuestion extends UsageSpan, UsageFilter {
  readonly groupBy: UsageGrouping;
}

export interface ServiceUsageQuestion extends UsageSpan {
  readonly groupBy: ServiceUsageGrouping;
}

/** The time that half of the requests took at most, and the one that 95 percent of them took at most, in milliseconds. */
interface Percentiles {
  /** The median in milliseconds; `null`: no request has a value. */
  readonly p50: number | null;
  /** The 95th percentile in milliseconds; `null`: no request has a value. */
  readonly p95: number | null;
}

/** How fast a group of requests was answered. Times are of requests with a status below 400. */
export interface PerformanceFigures {
  /** The number of requests that reached an upstream. */
  readonly requests: number;
  /** Those of them that failed: answered with a status of 400 or more, or aborted with an error code. */
  readonly errors: number;
  /** The time from the request to the end of the answer. */
  readonly latencyMs: Percentiles;
  /** The time from the request to the first token, of streams. */
  readonly timeToFirstTokenMs: Percentiles;
}

/** How fast requests were answered, and by which upstream. */
export interface Performance {
  /** One row per interval with requests, in order of time. */
  readonly intervals: readonly (PerformanceFigures & {
    /** When the interval begins. */
    readonly start: Date;
  })[];
  /** One row per upstream, the one with most requests first. */
  readonly upstreams: readonly (PerformanceFigures & {
    /** The name of the upstream. */
    readonly upstream: string;
  })[];
  /**
   * When the oldest request that was measured came in, if the period has more than the newest 20,000 requests, which are measured; `null`:
   * all were.
   */
  readonly measuredSince: Date | null;
}

/** How an upstream answered in one interval. */
export interface UpstreamInterval extends PerformanceFigures {
  /** When the interval begins. */
  readonly start: Date;
  /** The error codes of requests that failed, also of those whose answer had begun with status 200, the most frequent first. */
  readonly errorCodes: readonly {
    /** The code. */
    readonly code: string;
    /** The number of requests. */
    readonly requests: number;
  }[];
}

/** How each upstream answered over time. */
export interface UpstreamHistory {
  /** One row per upstream with requests, by name. */
  readonly upstreams: readonly {
    /** The name of the upstream. */
    readonly upstream: string;
    /** One row per interval with requests, in order of time. */
    readonly intervals: readonly UpstreamInterval[];
  }[];
  /** As that of a {@link Performance}. */
  readonly measuredSince: Date | null;
}

interface UsageSummary<Row> {
  /** One row per interval and group, in order of time. Intervals without requests have none. */
  readonly rows: readonly Row[];
  /** The sums over all rows. */
  readonly total: UsageTotals;
}

/** The maximum period in other time zones than UTC, whose days and months are summed from hours. */
const MAX_ZONED_MS = 367 * DAY_MS;

/** The maximum number of groups with rows of their own. There may be any number of accounts and keys. */
const MAX_GROUPS: Readonly<Record<UsageGrouping | ServiceUsageGrouping, number>> = {
  none: 1,
  model: 200,
  key: 200,
  account: 50,
};
/** The maximum number of rows, without those of the rest: processing more would delay the node's other requests. */
const MAX_ROWS = 10_000;

/** The intervals that are found in one turn of the event loop. */
const INTERVALS_AT_ONCE = 32;

/** The maximum number of requests whose times are compared. Sorting them takes tens of milliseconds of the database's time. */
const MAX_MEASURED = 20_000;

const NOTHING: UsageTotals = {
  requests: 0,
  errors: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  costNanoUsd: 0n,
};

/** The usage of an account or of the whole service: always the sum of the audit entries. */
export class UsageReports {
  readonly #reader: PostgresUsage;
  readonly #recorder: Recorder;
  readonly #reads: Reads;

  constructor(reader: PostgresUsage, recorder: Recorder, reads: Reads) {
    this.#reader = reader;
    this.#recorder = recorder;
    this.#reads = reads;
  }

  /** @throws {Failure} `invalid_request` when `to` is not after `from`, or far too long after; as {@link Reads.whole}. */
  async summary(accountId: AccountId, asked: UsageQuestion, reader: Reader): Promise<UsageSummary<UsageRow>> {
    const question = await wholeIntervals(asked);
    return summed(
      await this.#read(accountId, reader, () =>
        this.#reader.readUsage(accountId, question, maxGroups(question)),
      ),
    );
  }

  /**
   * How fast requests were answered, and how many by which upstream; of all accounts if `accountId` is `null`.
   *
   * @throws as {@link summary}.
   */
  async performance(
    accountId: AccountId | null,
    asked: UsageSpan & UsageFilter,
    reader: Reader,
  ): Promise<Performance> {
    const question = await wholeIntervals(asked);
    return this.#read(accountId, reader, () =>
      this.#reader.readPerformance(accountId, question, MAX_MEASURED),
    );
  }

  /** How each upstream answered the requests of all accounts over time. @throws as {@link summary}. */
  async upstreamHistory(asked: UsageSpan, reader: Reader): Promise<UpstreamHistory> {
    const span = await wholeIntervals(asked);
    return this.#read(null, reader, () => this.#reader.readUpstreamHistory(span, MAX_MEASURED));
  }

  /** The whole service's. @throws as {@link summary}. */
  async serviceSummary(asked: ServiceUsageQuestion, reader: Reader): Promise<UsageSummary<ServiceUsageRow>> {
    const question = await wholeIntervals(asked);
    return summed(
      await this.#read(null, reader, () => this.#reader.readServiceUsage(question, maxGroups(question))),
    );
  }

  /** Includes all requests of the account that this node has answered; `null`: of all accounts. */
  async #read<Result>(
    accountId: AccountId | null,
    reader: Reader,
    read: () => Promise<Result>,
  ): Promise<Result> {
    await this.#recorder.tryFlush(accountId);
    return this.#reads.inOneSlice(reader, read);
  }
}

function maxGroups({ starts, groupBy }: WholeSpan & (UsageQuestion | ServiceUsageQuestion)): number {
  return Math.min(MAX_GROUPS[groupBy], Math.floor(MAX_ROWS / starts.length));
}

/**
 * Extends the period to whole intervals. Other requests get their turn, as the days of a year in a time zone take some milliseconds.
 *
 * @throws {Failure} `invalid_request` when it is empty or too long.
 */
async function wholeIntervals<Question extends UsageSpan>(question: Question): Promise<Question & WholeSpan> {
  const { from, to, interval, timeZone } = question;
  const lengthMs = to.getTime() - from.getTime();
  if (lengthMs <= 0)
    throw new Failure("invalid_request", "to: must be after the beginning of the period", { param: "to" });
  if (lengthMs > MAX_USAGE_DAYS[interval] * DAY_MS) {
    throw new Failure("invalid_request", "interval: is too short for this period. Use a longer interval.", {
      param: "interval",
    });
  }
  if (timeZone !== "UTC" && lengthMs > MAX_ZONED_MS) {
    const message =
      "timeZone: periods of more than a year are available in UTC only. Leave the time zone out, or choose a shorter period.";
    throw new Failure("invalid_request", message, { param: "timeZone" });
  }
  const starts: Date[] = [];
  let next = intervalStart(from, interval, timeZone);
  while (next < to) {
    const start = next;
    if (starts.push(start) % INTERVALS_AT_ONCE === 0) await setImmediate();
    next = intervalStart(start, interval, timeZone, 1);
    // The rules of zones come from the runtime, and the loop must end whatever they are.
    if (next <= start)
      throw new Error(`the ${interval} after ${start.toISOString()} does not begin later in ${timeZone}`);
  }
  return { ...question, starts, from: starts[0] ?? from, to: next };
}

function summed<Row extends UsageTotals>(rows: readonly Row[]): UsageSummary<Row> {
  return { rows, total: rows.reduce<UsageTotals>(add, NOTHING) };
}

function add(sum: UsageTotals, row: UsageTotals): UsageTotals {
  return {
    requests: sum.requests + row.requests,
    errors: sum.errors + row.errors,
    promptTokens: sum.promptTokens + row.promptTokens,
    completionTokens: sum.completionTokens + row.completionTokens,
    cachedTokens: sum.cachedTokens + row.cachedTokens,
    costNanoUsd: sum.costNanoUsd + row.costNanoUsd,
  };
}
