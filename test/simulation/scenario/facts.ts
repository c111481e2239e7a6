import type { AccountId } from "../../../server/src/contract/account.ts";
import type { IssuedKey } from "../stores/key-tables.ts";
import type { Random } from "../world/random.ts";

/** A request that a client wants answered, with as many attempts as it takes. */
export interface Wish {
  readonly index: number;
  /** From where it is sent. Each has an address of its own, by which its entries are found. */
  readonly address: string;
  readonly accountId: AccountId;
  readonly key: IssuedKey;
  readonly node: number;
  readonly atMs: number;
  readonly maxTokens: number;
  readonly lastsMs: number;
  readonly isStreamed: boolean;
  readonly idempotencyKey: string | null;
  /** How often it is sent again after it was answered. */
  readonly repeats: number;
  /** What is random about it: it stays as it is when other requests are left out. */
  readonly random: Random;
  readonly attempts: Attempt[];
  /** How many of the attempts were answered to their end. */
  answers: number;
}

/** How an attempt ended for its client. `whole`: it has seen the answer's last byte. */
export type Outcome =
  | { readonly kind: "whole"; readonly text: string }
  | { readonly kind: "refused"; readonly status: number; readonly code: string; readonly message: string }
  /** The answer broke off, or the process was gone. */
  | { readonly kind: "broken" };

/** A request that reached a node. */
export interface Attempt {
  readonly wish: Wish;
  readonly startedMs: number;
  endedMs: number | null;
  outcome: Outcome | null;
  /** As the answer says: `req_…`. */
  requestId: string | null;
  /** When the model was asked, and when it had answered. */
  askedMs: number | null;
  answeredMs: number | null;
}

/** What the model took for an answer, as its text says. */
export function tokensIn(text: string): number | null {
  const found = /took (\d+) tokens/.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}

export function answerText(wish: Wish, tokens: number): string {
  return `answer ${wish.attempts.length} to ${wish.index} took ${tokens} tokens`;
}
