import type { AccountId } from "../contract/account.ts";
import type { SpenderId } from "../contract/ids.ts";

/** A request that the database change what an account has granted to a spender. Amounts in nano-USD. */
export interface Ask {
  readonly accountId: AccountId;
  readonly spender: SpenderId;
  /** Raised with every ask for the account: the database applies an ask only if its number is the highest so far. */
  readonly number: bigint;
  /** What shall be granted in all, since the spender began. A target and not a difference, so that repeating it is harmless. */
  readonly targetNanoUsd: bigint;
  /** Beyond the target, for requests to come: at most this much, and a tenth of what is free. */
  readonly extraNanoUsd: bigint;
}

/** What the database answers to an {@link Ask}. */
export interface AskAnswer {
  /** What is granted in all now. Less than the target when the account had no more. */
  readonly grantedNanoUsd: bigint;
  /** What spenders that are at work have set aside of the account, this one excepted. They are told that it is wanted. */
  readonly elsewhereNanoUsd: bigint;
  /** The same of spenders that have not been seen for a minute. */
  readonly stuckNanoUsd: bigint;
}

/** The spender was closed or released: nothing can be set aside for it any more. */
export class SpenderGone extends Error {
  override readonly name = "SpenderGone";
}

/** What the database knows of this node's spenders. */
export interface SpenderNews {
  /** Spenders of those asked about that are closed. */
  readonly gone: readonly SpenderId[];
  /** Reserves that other nodes are short of. */
  readonly reclaimed: readonly { readonly accountId: AccountId; readonly spender: SpenderId }[];
}

/** A spender that was not seen for a while. */
export interface UnseenSpender {
  readonly id: SpenderId;
  readonly seenAt: Date;
}

/** Where credit is set aside: the database. Each method is one transaction. */
export interface CreditStore {
  /** Opens a new spender for this node. */
  open(): Promise<SpenderId>;
  /** @throws {SpenderGone} */
  ask(ask: Ask): Promise<AskAnswer>;
  /** Says that the spenders are in use, and asks for news of them. */
  heartbeat(spenders: readonly SpenderId[]): Promise<SpenderNews>;
  /** Closes this node's spenders with a lower id than this: what they have left is free again. */
  closeBelow(id: SpenderId): Promise<void>;
  /** Other nodes' spenders that have not been seen for so long, by the database's clock. */
  listUnseen(unseenMs: number): Promise<readonly UnseenSpender[]>;
  /** Closes a spender of another node, which may still owe charges; recorded with the reason. */
  release(spender: SpenderId, reason: string): Promise<unknown>;
}
