import type { AccountId } from "../../../server/src/contract/account.ts";
import { type AuditEntry, requestIdOf } from "../../../server/src/contract/entry.ts";
import type { Attempt } from "./facts.ts";

interface Account {
  /** Requests that may still be charged. */
  readonly owing: Set<Attempt>;
  /** What was left for others at the most unfavourable, and what the account had, each time that one of them changed. */
  readonly history: { readonly atMs: number; readonly left: bigint; readonly balance: bigint }[];
}

/**
 * What is left of each account's credit if every request that may still be charged costs the most that it can. That is less
 * than there is, so whoever finds none left has a reason.
 */
export class Spendable {
  readonly #nowMs: () => number;
  readonly #balanceOf: (accountId: AccountId) => bigint;
  readonly #accounts: ReadonlyMap<AccountId, Account>;
  /** Requests whose entries are in the database. */
  readonly #recorded = new Set<string>();

  constructor(
    accounts: readonly AccountId[],
    nowMs: () => number,
    balanceOf: (accountId: AccountId) => bigint,
  ) {
    this.#nowMs = nowMs;
    this.#balanceOf = balanceOf;
    this.#accounts = new Map(accounts.map((id) => [id, { owing: new Set(), history: [] }]));
    for (const id of accounts) this.changed(id);
  }

  started(attempt: Attempt): void {
    this.#accounts.get(attempt.wish.accountId)?.owing.add(attempt);
    this.changed(attempt.wish.accountId);
  }

  /** What was refused is not charged. What broke off may be: its line may be in a journal. */
  ended(attempt: Attempt): void {
    const isRefused = attempt.outcome?.kind === "refused" && attempt.outcome.status !== 200;
    if (!isRefused && !this.#recorded.has(attempt.requestId ?? "")) return;
    this.#accounts.get(attempt.wish.accountId)?.owing.delete(attempt);
    this.changed(attempt.wish.accountId);
  }

  recorded({ id, accountId, sourceIp }: AuditEntry): void {
    const owing = this.#accounts.get(accountId)?.owing ?? new Set();
    const requestId = requestIdOf(id);
    this.#recorded.add(requestId);
    for (const attempt of owing) {
      const isIts = attempt.requestId === requestId;
      const isOfDead = attempt.requestId === null && attempt.outcome?.kind === "broken";
      if (!isIts && !(isOfDead && attempt.wish.address === sourceIp)) continue;
      owing.delete(attempt);
      break;
    }
    this.changed(accountId);
  }

  changed(accountId: AccountId): void {
    const account = this.#accounts.get(accountId);
    if (account === undefined) return;
    const balance = this.#balanceOf(accountId);
    let left = balance;
    for (const { wish } of account.owing) left -= BigInt(wish.maxTokens);
    account.history.push({ atMs: this.#nowMs(), left, balance });
  }

  /** The least that was left at any moment since, and the most that the account had. */
  since(accountId: AccountId, sinceMs: number): { readonly leastLeft: bigint; readonly mostHad: bigint } {
    const history = this.#accounts.get(accountId)?.history ?? [];
    let leastLeft = history.at(-1)?.left ?? 0n;
    let mostHad = history.at(-1)?.balance ?? 0n;
    for (let at = history.length - 1; at >= 0; at--) {
      const moment = history[at];
      if (moment === undefined) break;
      if (moment.left < leastLeft) leastLeft = moment.left;
      if (moment.balance > mostHad) mostHad = moment.balance;
      // The one before the time held at the time.
      if (moment.atMs < sinceMs) break;
    }
    return { leastLeft, mostHad };
  }
}
