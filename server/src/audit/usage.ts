import type { AccountId } from "../accounts/account.ts";
import { Failure } from "../errors/failure.ts";
import type { KeyUuid } from "../keys/key.ts";
import type { Recorder } from "./recorder.ts";

export type UsageInterval = "hour" | "day" | "month";
export type UsageGrouping = "none" | "model" | "key";

/** What requests have used. */
export interface UsageTotals {
  readonly requests: number;
  /** Of them, those answered with a status of 400 or more. */
  readonly errors: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the prompts' tokens, those that an upstream read from its cache. */
  readonly cachedTokens: number;
  readonly costNanoUsd: bigint;
}

export interface UsageRow extends UsageTotals {
  /** When the interval begins, in UTC. */
  readonly start: Date;
  /** `null` unless grouped by it; the empty model for requests that named none. */
  readonly model: string | null;
  /** `null` unless grouped by it. */
  readonly key: { readonly id: KeyUuid; readonly keyId: string; readonly name: string } | null;
}

export interface UsageQuestion {
  /** Whole intervals: both are rounded down to the beginning of one, `to` is not part of it. */
  readonly from: Date;
  readonly to: Date;
  readonly interval: UsageInterval;
  readonly groupBy: UsageGrouping;
}

export interface UsageReader {
  /** In order of time. Intervals in which nothing was used are left out. */
  readUsage(accountId: AccountId, question: UsageQuestion): Promise<readonly UsageRow[]>;
}

const HOUR_MS = 60 * 60_000;
/** How far a question may reach: a chart has no use for more points. */
const LONGEST_MS: Readonly<Record<UsageInterval, number>> = {
  hour: 31 * 24 * HOUR_MS,
  day: 3 * 366 * 24 * HOUR_MS,
  month: 20 * 366 * 24 * HOUR_MS,
};

/** What an account uses: always the sum of its entries. */
export class Usage {
  readonly #reader: UsageReader;
  readonly #recorder: Recorder;

  constructor(reader: UsageReader, recorder: Recorder) {
    this.#reader = reader;
    this.#recorder = recorder;
  }

  /** @throws {Failure} `invalid_request` when `to` is not after `from`, or far too long after. */
  async summary(
    accountId: AccountId,
    question: UsageQuestion,
  ): Promise<{ readonly rows: readonly UsageRow[]; readonly total: UsageTotals }> {
    const lengthMs = question.to.getTime() - question.from.getTime();
    if (lengthMs <= 0) throw new Failure("invalid_request", "to: must be after `from`", { param: "to" });
    if (lengthMs > LONGEST_MS[question.interval]) {
      throw new Failure(
        "invalid_request",
        "interval: is too short for so long a time. Ask for longer ones.",
        {
          param: "interval",
        },
      );
    }
    await this.#recorder.flushed();
    const rows = await this.#reader.readUsage(accountId, question);
    return { rows, total: rows.reduce(add, NOTHING) };
  }
}

const NOTHING: UsageTotals = {
  requests: 0,
  errors: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  costNanoUsd: 0n,
};

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
