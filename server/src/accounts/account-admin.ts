import { v7 as uuidv7 } from "uuid";
import type { Publisher } from "../admission/publisher.ts";
import {
  ACTIVE_KEY_LIMITS,
  type Account,
  type AccountId,
  type AccountState,
  type IpRules,
  type Plan,
} from "../contract/account.ts";
import type { Action, ActionId, Actor } from "../contract/action.ts";
import type { LedgerEntryId } from "../contract/ids.ts";
import { Failure } from "../errors/failure.ts";
import { parseNetworks } from "../networks/networks.ts";
import { randomBase62 } from "../secrets/oslo.ts";
import { type AccountChange, noticesOf } from "./account-change.ts";
import type { PostgresAccounts } from "./accounts-store.ts";
import type { ActionChain } from "./action-chain.ts";
import type { PostgresActions } from "./actions-store.ts";
import type { IpRuleBook, IpVerdict } from "./ip-rules.ts";
import { addressTaken, type SignIn } from "./sign-in.ts";
import type { User } from "./user.ts";

/** How long nodes have to release reserved credit of the account that they do not need. */
const RECLAIM_TIMEOUT_MS = 3_000;
const RECLAIM_PAUSE_MS = 250;

/** Credit granted to an account, or taken back. */
export interface CreditGrant {
  readonly id: LedgerEntryId;
  readonly accountId: AccountId;
  readonly at: Date;
  /** Negative: a correction downwards. Never 0. */
  readonly amountNanoUsd: bigint;
  readonly reason: string;
}

/**
 * The outcome of a grant. A negative grant is `short` when it exceeds the free credit: nothing is booked, and nodes are asked to
 * release reserved credit that they do not need.
 */
export type GrantOutcome =
  | { readonly kind: "booked"; readonly balanceNanoUsd: bigint }
  | { readonly kind: "short"; readonly freeNanoUsd: bigint };

/** An account as operators see it in a list. */
export interface ListedAccount extends Account {
  readonly users: readonly User[];
  readonly activeKeys: number;
  readonly balanceNanoUsd: bigint;
}

/** Filters accounts. `null` matches every value. */
export interface AccountFilter {
  /** The beginning of a name or of a user's address, in any case, or an id; empty: all. */
  readonly search: string;
  readonly state: AccountState | null;
  readonly plan: Plan | null;
}

export interface ChangedAccount {
  readonly before: Account;
  readonly after: Account;
  readonly activeKeys: number;
  readonly version: bigint;
}

export interface AccountAdminParts {
  readonly store: PostgresAccounts;
  readonly actions: PostgresActions;
  readonly publisher: Publisher;
  readonly signIn: SignIn;
  readonly ipRules: IpRuleBook;
  readonly now: () => Date;
}

/** Administers accounts for operators. Every change is recorded in the audit trail. */
export class AccountAdmin {
  readonly #parts: AccountAdminParts;

  constructor(parts: AccountAdminParts) {
    this.#parts = parts;
  }

  /** A page of accounts, newest first. */
  async list(
    filter: AccountFilter,
    cursor: AccountId | null,
    limit: number,
  ): Promise<{ readonly accounts: readonly ListedAccount[]; readonly nextCursor: AccountId | null }> {
    const found = await this.#parts.store.searchAccounts(
      { ...filter, search: filter.search.trim() },
      cursor,
      limit + 1,
    );
    const accounts = found.slice(0, limit);
    return { accounts, nextCursor: found.length > limit ? (accounts.at(-1)?.id ?? null) : null };
  }

  /** @throws {Failure} `not_found` */
  async get(id: AccountId): Promise<ListedAccount> {
    return (await this.#parts.store.findListedAccount(id)) ?? noSuchAccount();
  }

  /**
   * Creates an account. This works while sign-up is closed, too.
   *
   * @returns the first user's password, shown once. @throws {Failure} `conflict` when the address is taken.
   */
  async create(
    by: Actor,
    request: { readonly email: string; readonly accountName: string; readonly plan: Plan },
  ): Promise<{ readonly account: ListedAccount; readonly password: string }> {
    const password = randomBase62(20);
    const fresh = await this.#parts.signIn.newAccount({ ...request, password }, request.plan);
    const id = await this.#parts.store.createAccount(fresh, by);
    if (id === null) throw addressTaken();
    return { account: await this.get(id), password };
  }

  /**
   * Once this has resolved, no node admits a request by the state before the change.
   *
   * @returns the account, and notices about other effects of the change, a sentence each.
   * @throws {Failure} `not_found`; `server_is_overloaded` when the change could not be published to all nodes yet.
   */
  async change(
    by: Actor,
    id: AccountId,
    change: AccountChange,
    reason: string | null = null,
  ): Promise<{ readonly account: Account; readonly notices: readonly string[] }> {
    const record = { by, at: this.#parts.now(), reason };
    const outcome = (await this.#parts.store.changeAccount(id, change, record)) ?? noSuchAccount();
    await this.#parts.publisher.publish(id, outcome.version);
    const { before, after, activeKeys } = outcome;
    return { account: after, notices: noticesOf(before, after, activeKeys, ACTIVE_KEY_LIMITS[after.plan]) };
  }

  /** Tests an address against the account's rules, or against proposed ones. */
  async tryIpRules(id: AccountId, address: string, proposed: IpRules | null): Promise<IpVerdict> {
    const account = await this.get(id);
    // Proposed rules are tested as if they were in force.
    return proposed === null
      ? this.#parts.ipRules.judge(account, address)
      : this.#parts.ipRules.judge({ plan: "enterprise", ipRules: proposed }, address);
  }

  /**
   * Grants credit, or takes back as much as the account has free. Credit that is held for running requests stays.
   *
   * @returns the new balance and the booked amount, which is smaller than requested if the account has less free credit.
   * @throws {Failure} `not_found`; `conflict` when nothing can be taken back.
   */
  async grantCredits(
    by: Actor,
    accountId: AccountId,
    amountNanoUsd: bigint,
    reason: string,
  ): Promise<{ readonly balanceNanoUsd: bigint; readonly amountNanoUsd: bigint }> {
    const giveUpMs = performance.now() + RECLAIM_TIMEOUT_MS;
    for (let amount = amountNanoUsd; ; ) {
      const id = uuidv7() as LedgerEntryId;
      const grant = { id, accountId, at: this.#parts.now(), amountNanoUsd: amount, reason };
      const outcome = (await this.#parts.store.grantCredits(grant, by)) ?? noSuchAccount();
      if (outcome.kind === "booked") return { balanceNanoUsd: outcome.balanceNanoUsd, amountNanoUsd: amount };
      if (performance.now() < giveUpMs) {
        await new Promise((resolve) => setTimeout(resolve, RECLAIM_PAUSE_MS));
        continue;
      }
      if (outcome.freeNanoUsd === 0n) throw nothingToTake();
      amount = -outcome.freeNanoUsd;
    }
  }

  /** The chains of actions, which exports and verifications read. */
  get actionChain(): ActionChain {
    return this.#parts.actions.chain;
  }

  /** Lists actions on one account or on all (`null`), newest first. */
  async listActions(
    accountId: AccountId | null,
    cursor: ActionId | null,
    limit: number,
  ): Promise<{ readonly actions: readonly Action[]; readonly nextCursor: ActionId | null }> {
    const found = await this.#parts.actions.listActions(accountId, cursor, limit + 1);
    const actions = found.slice(0, limit);
    return { actions, nextCursor: found.length > limit ? (actions.at(-1)?.id ?? null) : null };
  }
}

/** @throws {Failure} `invalid_request` naming the first that is neither an address nor a block. */
export function requireNetworks(networks: readonly string[]): readonly string[] {
  const [problem] = parseNetworks(networks).problems;
  if (problem === undefined) return networks;
  throw new Failure("invalid_request", `networks: ${problem}`, { param: "networks" });
}

function nothingToTake(): Failure {
  return new Failure(
    "conflict",
    "The account has no credit to take back: all of it is spent, or reserved for requests that are being answered.",
  );
}

function noSuchAccount(): never {
  throw new Failure("not_found", "No such account exists. Search for it to find its id.", { param: "id" });
}
