import type { AccountId } from "../contract/account.ts";
import type { SpenderId } from "../contract/ids.ts";

/** Closing or releasing a spender takes longer the more accounts it has. */
export const CLOSE_TIMEOUT_MS = 60_000;

/** Asks the database to change what an account has granted to a spender. Amounts in nano-USD. */
export interface Ask {
  readonly accountId: AccountId;
  readonly spender: SpenderId;
  /** The sequence number. The database applies an ask only if its number is the highest so far for the account and spender. */
  readonly number: bigint;
  /** The total to be granted since the spender was opened. It is a target, not a difference, so that a repeated ask is harmless. */
  readonly targetNanoUsd: bigint;
  /** The maximum granted beyond the target for later requests. At most a tenth of the free credit is granted. */
  readonly extraNanoUsd: bigint;
}

/** The database's answer to an {@link Ask}. */
export interface AskAnswer {
  /** The total that is granted now. It is less than the target if the account had no more. */
  readonly grantedNanoUsd: bigint;
  /** The total of the spender's charges so far. */
  readonly chargedNanoUsd: bigint;
  /** The credit of the account that other running spenders have reserved. If the account was short, it is marked as reclaimed. */
  readonly elsewhereNanoUsd: bigint;
  /** The credit of the account that is reserved by spenders without a heartbeat in the last minute. */
  readonly stuckNanoUsd: bigint;
  /** Of the other spenders that have reserved credit of the account, the one that was not seen for the longest time. */
  readonly leastSeen: LeastSeenSpender | null;
}

/** A spender of another node, as the log names it. */
export interface LeastSeenSpender {
  readonly id: string;
  /** For how long it has not been seen, by the database's clock. */
  readonly unseenMs: number;
}

/** The spender was closed or released: it can reserve nothing. */
export class SpenderGone extends Error {
  override readonly name = "SpenderGone";
}

/** The database's answer to a heartbeat. */
export interface SpenderNews {
  /** The spenders of the heartbeat that are closed. */
  readonly gone: readonly SpenderId[];
  /** Reserves of these spenders that another spender of the account needs. */
  readonly reclaimed: readonly { readonly accountId: AccountId; readonly spender: SpenderId }[];
}

/** A spender without a recent heartbeat. */
export interface UnseenSpender {
  readonly id: SpenderId;
  readonly seenAt: Date;
}

/** The database in which nodes reserve credit. Each method is one transaction, except {@link CreditStore.closeBelow}. */
export interface CreditStore {
  /** Opens a new spender for this node. */
  open(): Promise<SpenderId>;
  /** @throws {SpenderGone} */
  ask(ask: Ask): Promise<AskAnswer>;
  /** Reports that the spenders are in use. @returns what has become of them, and what they should release. */
  heartbeat(spenders: readonly SpenderId[]): Promise<SpenderNews>;
  /**
   * Closes this node's spenders with a lower id and frees what they have reserved, in several transactions: if it is interrupted, some of
   * their reserves are freed. Repeat it then. The spenders must neither owe charges nor have holds.
   *
   * @returns `false` if rows of an account were locked, so that its reserve is left. Repeat it then, too.
   */
  closeBelow(id: SpenderId): Promise<boolean>;
  /** Lists other nodes' spenders that have not been seen for this long, by the database's clock. */
  listUnseen(unseenMs: number): Promise<readonly UnseenSpender[]>;
  /**
   * Closes a spender of another node, which may still owe charges, and records the reason.
   *
   * @returns `false` if it was seen meanwhile, or is closed already.
   */
  releaseUnseen(spender: SpenderId, unseenMs: number, reason: string): Promise<boolean>;
}
