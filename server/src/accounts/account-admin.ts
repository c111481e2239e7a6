import { type Publisher, raiseVersion } from "../admission/publisher.ts";
import {
  ACTIVE_KEY_LIMITS,
  type Account,
  type AccountId,
  type IpRules,
  type Plan,
} from "../contract/account.ts";
import type { Action, ActionId, Actor } from "../contract/action.ts";
import { type Database, inTransaction, type Transaction } from "../database/database.ts";
import { readPage } from "../database/page.ts";
import { Failure } from "../errors/failure.ts";
import { parseNetworks } from "../networks/networks.ts";
import { randomBase62 } from "../secrets/oslo.ts";
import { type AccountChange, changed, differenceOf, noticesOf } from "./account-change.ts";
import {
  type AccountListing,
  type AccountPage,
  findListedAccount,
  type ListedAccount,
  listAccounts,
} from "./account-list.ts";
import { type AccountRow, accountColumns, accountOf } from "./account-row.ts";
import { ActionChain } from "./action-chain.ts";
import { type ActionFilter, listActions, recordAction } from "./actions-store.ts";
import { type CreditGrant, type GrantedCredit, grantCredits } from "./credit-grant.ts";
import type { IpRuleBook, IpVerdict } from "./ip-rules.ts";
import { addressTaken, type SignIn } from "./sign-in.ts";
import { createAccount } from "./users-store.ts";

interface AccountAdminParts {
  readonly database: Database;
  /** The same database by other connections, for lists and what sums up usage. */
  readonly longReads: Database;
  readonly publisher: Publisher;
  readonly signIn: SignIn;
  readonly ipRules: IpRuleBook;
  readonly now: () => Date;
}

/** Administers accounts for operators. Every change is recorded in the audit trail. */
export class AccountAdmin {
  /** The chains of actions, which exports and verifications read. */
  readonly actionChain: ActionChain;
  readonly #parts: AccountAdminParts;

  constructor(parts: AccountAdminParts) {
    this.actionChain = new ActionChain(parts.longReads);
    this.#parts = parts;
  }

  /** Returns true when there is no account. */
  async isEmpty(): Promise<boolean> {
    const rows = await this.#parts.database`select from accounts limit 1`;
    return rows.length === 0;
  }

  async findAccount(id: AccountId): Promise<Account | null> {
    const { database } = this.#parts;
    const [row] = await database<
      AccountRow[]
    >`select ${accountColumns(database)} from accounts where id = ${id}`;
    return row === undefined ? null : accountOf(row);
  }

  /** A page of accounts, as {@link listAccounts} reads it. */
  list(listing: AccountListing): Promise<AccountPage> {
    return listAccounts(this.#parts.longReads, this.#parts.now(), listing);
  }

  /** @throws {Failure} `not_found` */
  async get(id: AccountId): Promise<ListedAccount> {
    const { longReads, now } = this.#parts;
    return (await findListedAccount(longReads, now(), id)) ?? noSuchAccount();
  }

  /**
   * Creates an account. This works while sign-up is closed, too.
   *
   * @returns the first user's password, shown once. @throws {Failure} `conflict` when the address is taken.
   */
  async create(
    by: Actor,
    request: { readonly email: string; readonly accountName: string; readonly plan: Plan },
  ): Promise<{
    /** The new account. */
    readonly account: ListedAccount;
    /** The password of its first user, which cannot be read again. */
    readonly password: string;
  }> {
    const password = randomBase62(20);
    const fresh = await this.#parts.signIn.newAccount({ ...request, password }, request.plan);
    const { accountName: name, email, plan } = fresh;
    const created = { action: "account.create", after: { name, email, plan } } as const;
    if (!(await createAccount(this.#parts.database, fresh, by, created)))
      throw addressTaken("Search for the address to find the user's account.");
    return { account: await this.get(fresh.accountId), password };
  }

  /**
   * Once this has resolved, no node admits a request by the state before the change. A change without effect is not recorded.
   *
   * @returns the account, and notices about other effects of the change, a sentence each.
   * @throws {Failure} `not_found`; `server_is_overloaded` when the change could not be published to all nodes yet.
   */
  async change(
    by: Actor,
    id: AccountId,
    change: AccountChange,
    reason: string | null,
  ): Promise<{
    /** The account after the change. */
    readonly account: Account;
    /** Other effects of the change, a sentence each. */
    readonly notices: readonly string[];
  }> {
    const at = this.#parts.now();
    const { before, after, activeKeys, version } = await inTransaction(this.#parts.database, async (sql) => {
      const [row] = await sql<AccountRow[]>`
        select ${accountColumns(sql)} from accounts where id = ${id} for no key update`;
      const present = row === undefined ? noSuchAccount() : accountOf(row);
      const next = changed(present, change, at);
      const difference = differenceOf(present, next);
      if (difference !== null) {
        await updateAccount(sql, next);
        const recordedReason = change.action === "account.suspend" ? change.reason : reason;
        const record = { action: change.action, reason: recordedReason, ...difference };
        await recordAction(sql, { at, by, accountId: id, ...record });
      }
      // The version is raised even without a change, so that a repeated call repairs a failed publication.
      const raised = await raiseVersion(sql, id);
      const [keys] = await sql<{ active: number }[]>`
        select count(*)::int as active from keys where account_id = ${id} and state = 'active'`;
      return { before: present, after: next, activeKeys: keys?.active ?? 0, version: raised };
    });
    await this.#parts.publisher.publish(id, version);
    return { account: after, notices: noticesOf(before, after, activeKeys, ACTIVE_KEY_LIMITS[after.plan]) };
  }

  /** Tests an address against the account's rules, or against proposed ones. */
  async tryIpRules(id: AccountId, address: string, proposed: IpRules | null): Promise<IpVerdict> {
    const account = (await this.findAccount(id)) ?? noSuchAccount();
    // Proposed rules are tested as if they were in force.
    return proposed === null
      ? this.#parts.ipRules.judge(account, address)
      : this.#parts.ipRules.judge({ plan: "enterprise", ipRules: proposed }, address);
  }

  /** Grants credit or takes it back: see {@link grantCredits}. @throws {Failure} as there, and `not_found`. */
  async grantCredits(grant: CreditGrant): Promise<GrantedCredit> {
    const { database, now } = this.#parts;
    return (await grantCredits(database, grant, now)) ?? noSuchAccount();
  }

  /** Lists actions that match, newest first. */
  async listActions(
    filter: ActionFilter,
    cursor: ActionId | null,
    limit: number,
  ): Promise<{
    /** The changes of the page, newest first. */
    readonly actions: readonly Action[];
    /** The `cursor` of the next page; `null` on the last page. */
    readonly nextCursor: ActionId | null;
  }> {
    const page = await readPage(limit, (max) => listActions(this.#parts.longReads, filter, cursor, max));
    return { actions: page.items, nextCursor: page.last?.id ?? null };
  }
}

/** @throws {Failure} `invalid_request` naming the first that is neither an address nor a block. */
export function requireNetworks(networks: readonly string[]): readonly string[] {
  const [problem] = parseNetworks(networks).problems;
  if (problem === undefined) return networks;
  throw new Failure("invalid_request", `networks: ${problem}`, { param: "networks" });
}

async function updateAccount(transaction: Transaction, account: Account): Promise<void> {
  const { suspension, ipRules, limits } = account;
  await transaction`
    update accounts
    set plan = ${account.plan}, state = ${account.state},
        suspended_at = ${suspension?.at ?? null}, suspension_reason = ${suspension?.reason ?? null},
        ip_rules = ${transaction.json([...ipRules.networks])}, ip_rules_mode = ${ipRules.mode},
        requests_per_minute = ${limits.requestsPerMinute}, tokens_per_minute = ${limits.tokensPerMinute},
        concurrent_requests = ${limits.concurrentRequests}
    where id = ${account.id}`;
}

function noSuchAccount(): never {
  throw new Failure("not_found", "No such account exists. Search for it to find its id.", { param: "id" });
}
