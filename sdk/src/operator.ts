import type { ClientOptions } from "./client.ts";
import type {
  AccountChange,
  Action,
  BooksReport,
  CatalogInForce,
  CreditNode,
  IpRules,
  JournalReplay,
  LimitOverrides,
  ListedAccount,
  OperatedAccount,
  SecurityEvent,
  SecurityParams,
  ServiceUsage,
  ServiceUsageParams,
  SetAside,
  SetAsideLine,
  UpstreamHealth,
} from "./contract/operator.ts";
import { OstiaryError } from "./core/errors.ts";
import { given } from "./core/given.ts";
import { Rpc } from "./core/rpc.ts";
import { prefixOf, refuseWebPages, secretOf, transportOf } from "./core/settings.ts";
import type { RequestOptions } from "./core/transport.ts";

export type * from "./contract/operator.ts";

type Plan = OperatedAccount["plan"];
type State = OperatedAccount["state"];
type Reasoned = { readonly reason?: string | undefined };
/** A part of a list: where it begins, and how long it is at most. */
type Paging = { readonly limit?: number | undefined; readonly cursor?: string | undefined };
type NewIpRules = Partial<IpRules> & Pick<IpRules, "networks">;

/**
 * The service for its operators: `new OstiaryOperator()` reads an operator's management token from
 * `OSTIARY_MANAGEMENT_TOKEN`. Every change is recorded, and holds on every node when its call has resolved.
 *
 * @example
 * ```ts
 * import { OstiaryOperator } from "ostiary/operator";
 *
 * const operator = new OstiaryOperator();
 * await operator.accounts.suspend(id, { reason: "unpaid" });
 * ```
 */
export class OstiaryOperator {
  readonly accounts: OperatedAccounts;
  readonly users: OperatedUsers;
  readonly nodes: OperatedNodes;
  readonly journal: OperatedJournal;
  readonly #rpc: Rpc;

  /** @throws {OstiaryError} there is no management token, an option is not valid, or this is a web page. */
  constructor(options: Omit<ClientOptions, "apiKey"> = {}) {
    refuseWebPages(options);
    const prefix = prefixOf(options.service);
    const token = secretOf("management token", options.managementToken, `${prefix}_MANAGEMENT_TOKEN`);
    if (token === undefined) {
      throw new OstiaryError(
        `There is no management token. Set the environment variable ${prefix}_MANAGEMENT_TOKEN, or pass managementToken.`,
      );
    }
    this.#rpc = new Rpc(transportOf(options, prefix, () => token).transport);
    this.accounts = new OperatedAccounts(this.#rpc);
    this.users = new OperatedUsers(this.#rpc);
    this.nodes = new OperatedNodes(this.#rpc);
    this.journal = new OperatedJournal(this.#rpc);
  }

  /** What all accounts use: the 50 that cost most by name, or 200 models, where it is grouped by that. */
  usage(params: ServiceUsageParams, options?: RequestOptions): Promise<ServiceUsage> {
    return this.#rpc.query("operator.usage", given(params), options);
  }

  /** What somebody did at the service's doors, last seen first. */
  security(
    params: SecurityParams = {},
    options?: RequestOptions,
  ): Promise<{ readonly events: readonly SecurityEvent[]; readonly nextCursor: string | null }> {
    return this.#rpc.query("operator.security", given(params), options);
  }

  /** How each upstream has answered the node that is asked. */
  upstreams(options?: RequestOptions): Promise<{ readonly upstreams: readonly UpstreamHealth[] }> {
    return this.#rpc.query("operator.upstreams", undefined, options);
  }

  /** The catalog that is in force: with its routes, without credentials. */
  catalog(options?: RequestOptions): Promise<CatalogInForce> {
    return this.#rpc.query("operator.catalog", undefined, options);
  }

  /** Whether balances and usage are the sums that they should be. */
  checkBooks(
    params: { readonly hours?: number | undefined } = {},
    options?: RequestOptions,
  ): Promise<BooksReport> {
    return this.#rpc.query("operator.checkBooks", given(params), options);
  }

  /** Who changed what, newest first. */
  audit(
    params: Paging & { readonly accountId?: string | undefined } = {},
    options?: RequestOptions,
  ): Promise<{ readonly actions: readonly Action[]; readonly nextCursor: string | null }> {
    return this.#rpc.query("operator.audit", given(params), options);
  }
}

/** Nodes that have credit of accounts set aside, for operators. */
export class OperatedNodes {
  readonly #rpc: Rpc;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  /** Each life of a node that has credit set aside, oldest first. */
  list(options?: RequestOptions): Promise<{ readonly nodes: readonly CreditNode[] }> {
    return this.#rpc.query("operator.nodes.list", undefined, options);
  }

  /**
   * Releases the credit of a node that will not return. What it still owes, should it return after all, may then not be
   * collected.
   *
   * @returns what is free again, and of how many accounts.
   */
  release(
    spender: bigint,
    params: { readonly reason: string },
    options?: RequestOptions,
  ): Promise<{ readonly accounts: number; readonly amountNanoUsd: bigint }> {
    return this.#rpc.mutate("operator.nodes.release", { spender, ...params }, options);
  }
}

/**
 * Lines of a node's journal that could not be read or recorded, for operators. Each node has a journal of its own: with several
 * nodes, make the client with the node's own address.
 */
export class OperatedJournal {
  readonly #rpc: Rpc;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  /** The first `limit` lines that are set aside: 1 to 1,000, 100 by default. */
  list(params: { readonly limit?: number | undefined } = {}, options?: RequestOptions): Promise<SetAside> {
    return this.#rpc.query("operator.journal.list", given(params), options);
  }

  /** One line with all of its text. */
  get(id: string, options?: RequestOptions): Promise<SetAsideLine> {
    return this.#rpc.query("operator.journal.get", { id }, options);
  }

  /** Records and charges what lines tell; without `ids`, all that can be read. `replacement` replaces the text of the one line that is named. */
  replay(
    params: {
      readonly ids?: readonly string[] | undefined;
      readonly replacement?: string | undefined;
    } = {},
    options?: RequestOptions,
  ): Promise<JournalReplay> {
    return this.#rpc.mutate("operator.journal.replay", given(params), options);
  }

  /** Removes lines for good: what they tell is never recorded or charged. */
  discard(
    params: { readonly ids: readonly string[]; readonly reason: string },
    options?: RequestOptions,
  ): Promise<{ readonly discarded: number }> {
    return this.#rpc.mutate("operator.journal.discard", params, options);
  }
}

/** Accounts, for operators. */
export class OperatedAccounts {
  readonly #rpc: Rpc;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  /** Newest first; `search` is the beginning of a name or of a user's e-mail address, or an id. */
  list(
    params: Paging & {
      readonly search?: string | undefined;
      readonly state?: State | undefined;
      readonly plan?: Plan | undefined;
    } = {},
    options?: RequestOptions,
  ): Promise<{ readonly accounts: readonly ListedAccount[]; readonly nextCursor: string | null }> {
    return this.#rpc.query("operator.accounts.list", { search: "", ...given(params) }, options);
  }

  get(id: string, options?: RequestOptions): Promise<ListedAccount> {
    return this.#rpc.query("operator.accounts.get", { id }, options);
  }

  /** Also where signing up is closed. `password` is the first user's, and told this once. */
  create(
    params: {
      readonly email: string;
      readonly accountName: string;
      readonly plan?: Plan | undefined;
    },
    options?: RequestOptions,
  ): Promise<{ readonly account: ListedAccount; readonly password: string }> {
    return this.#rpc.mutate("operator.accounts.create", given(params), options);
  }

  /** When this has resolved, every request with a key or management token of the account is refused. */
  suspend(id: string, params: { readonly reason: string }, options?: RequestOptions): Promise<AccountChange> {
    return this.#rpc.mutate("operator.accounts.suspend", { id, ...params }, options);
  }

  reinstate(id: string, params: Reasoned = {}, options?: RequestOptions): Promise<AccountChange> {
    return this.#rpc.mutate("operator.accounts.reinstate", { id, ...given(params) }, options);
  }

  setPlan(
    id: string,
    params: Reasoned & { readonly plan: Plan },
    options?: RequestOptions,
  ): Promise<AccountChange> {
    return this.#rpc.mutate("operator.accounts.setPlan", { id, ...given(params) }, options);
  }

  /** Sets the networks that keys may be used from. Without `mode` the present one stays. */
  setIpRules(
    id: string,
    params: Reasoned & {
      readonly rules: NewIpRules;
    },
    options?: RequestOptions,
  ): Promise<AccountChange> {
    return this.#rpc.mutate("operator.accounts.setIpRules", { id, ...given(params) }, options);
  }

  /** Would an address pass? By the account's rules, or by others before they are set. */
  tryIpRules(
    id: string,
    params: {
      readonly address: string;
      readonly rules?: NewIpRules | undefined;
    },
    options?: RequestOptions,
  ): Promise<{ readonly verdict: "passes" | "reported" | "blocked" }> {
    return this.#rpc.query("operator.accounts.tryIpRules", { id, ...given(params) }, options);
  }

  setLimits(
    id: string,
    params: Reasoned & {
      readonly limits: LimitOverrides;
    },
    options?: RequestOptions,
  ): Promise<AccountChange> {
    return this.#rpc.mutate("operator.accounts.setLimits", { id, ...given(params) }, options);
  }

  /**
   * Negative: takes credit back, as much as the account has.
   *
   * @returns the balance after it, and what was booked.
   */
  grantCredits(
    id: string,
    params: { readonly amountNanoUsd: bigint; readonly reason: string },
    options?: RequestOptions,
  ): Promise<{ readonly balanceNanoUsd: bigint; readonly amountNanoUsd: bigint }> {
    return this.#rpc.mutate("operator.accounts.grantCredits", { id, ...params }, options);
  }
}

/** Users, for operators. */
export class OperatedUsers {
  readonly #rpc: Rpc;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  /**
   * For a user who lost their password. The answer holds the new one, this once. The user's sessions end, and their management
   * tokens too unless `keepTokens` is given.
   */
  resetPassword(
    params: { readonly email: string; readonly keepTokens?: boolean },
    options?: RequestOptions,
  ): Promise<{ readonly password: string; readonly revokedTokens: number }> {
    return this.#rpc.mutate("operator.users.resetPassword", params, options);
  }
}
