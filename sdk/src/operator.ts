import type { ClientOptions } from "./client.ts";
import type {
  AccountChange,
  Action,
  CatalogInForce,
  CreditNode,
  IpRules,
  JournalReplay,
  LimitOverrides,
  ListedAccount,
  OperatedAccount,
  ReconciliationReport,
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
/** The cursor of a page and its maximum length. */
type Paging = { readonly limit?: number | undefined; readonly cursor?: string | undefined };
type NewIpRules = Partial<IpRules> & Pick<IpRules, "networks">;

/**
 * The service for its operators: `new OstiaryOperator()` reads an operator's management token from
 * `OSTIARY_MANAGEMENT_TOKEN`. Every change is recorded in the audit trail and is in force on every node once its call has resolved.
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
        `No management token is set. Set the environment variable ${prefix}_MANAGEMENT_TOKEN, or pass managementToken.`,
      );
    }
    this.#rpc = new Rpc(transportOf(options, prefix, () => token).transport);
    this.accounts = new OperatedAccounts(this.#rpc);
    this.users = new OperatedUsers(this.#rpc);
    this.nodes = new OperatedNodes(this.#rpc);
    this.journal = new OperatedJournal(this.#rpc);
  }

  /** Usage of all accounts. Grouped, the 50 accounts or 200 models with the highest cost have rows of their own. */
  usage(params: ServiceUsageParams, options?: RequestOptions): Promise<ServiceUsage> {
    return this.#rpc.query("operator.usage", given(params), options);
  }

  /** Failed sign-ins, refused keys and other security events, last seen first. */
  security(
    params: SecurityParams = {},
    options?: RequestOptions,
  ): Promise<{ readonly events: readonly SecurityEvent[]; readonly nextCursor: string | null }> {
    return this.#rpc.query("operator.security", given(params), options);
  }

  /** Health of each upstream, as the answering node sees it. */
  upstreams(options?: RequestOptions): Promise<{ readonly upstreams: readonly UpstreamHealth[] }> {
    return this.#rpc.query("operator.upstreams", undefined, options);
  }

  /** The current catalog with its routes, without credentials. */
  catalog(options?: RequestOptions): Promise<CatalogInForce> {
    return this.#rpc.query("operator.catalog", undefined, options);
  }

  /** Compares balances with ledgers and usage with audit entries, and reports reserved credit. */
  checkBooks(
    params: { readonly hours?: number | undefined } = {},
    options?: RequestOptions,
  ): Promise<ReconciliationReport> {
    return this.#rpc.query("operator.checkBooks", given(params), options);
  }

  /** The audit trail, newest first. */
  audit(
    params: Paging & { readonly accountId?: string | undefined } = {},
    options?: RequestOptions,
  ): Promise<{ readonly actions: readonly Action[]; readonly nextCursor: string | null }> {
    return this.#rpc.query("operator.audit", given(params), options);
  }
}

/** Nodes and the credit that they have reserved, for operators. */
export class OperatedNodes {
  readonly #rpc: Rpc;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  /** A row for each start of a node that has reserved credit, oldest first. */
  list(options?: RequestOptions): Promise<{ readonly nodes: readonly CreditNode[] }> {
    return this.#rpc.query("operator.nodes.list", undefined, options);
  }

  /**
   * Releases the credit of a node that will not return. If it returns after all, its pending charges may not be collected.
   *
   * @param id as {@link list} shows it.
   * @returns the amount released and the number of accounts it belongs to.
   */
  release(
    id: bigint,
    params: { readonly reason: string },
    options?: RequestOptions,
  ): Promise<{ readonly accounts: number; readonly amountNanoUsd: bigint }> {
    return this.#rpc.mutate("operator.nodes.release", { id, ...params }, options);
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

  /** Records and charges the requests of set-aside lines; without `ids`, of all lines that can be read. `replacement` replaces the text of the one given line. */
  replay(
    params: {
      readonly ids?: readonly string[] | undefined;
      readonly replacement?: string | undefined;
    } = {},
    options?: RequestOptions,
  ): Promise<JournalReplay> {
    return this.#rpc.mutate("operator.journal.replay", given(params), options);
  }

  /** Deletes lines permanently. Their requests are never recorded or charged. */
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

  /** Works while sign-up is closed. `password` is the first user's; it cannot be read again. */
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

  /** Sets the networks that keys may be used from. Omit `mode` to keep the current one. */
  setIpRules(
    id: string,
    params: Reasoned & {
      readonly rules: NewIpRules;
    },
    options?: RequestOptions,
  ): Promise<AccountChange> {
    return this.#rpc.mutate("operator.accounts.setIpRules", { id, ...given(params) }, options);
  }

  /** Tests an address against the account's rules, or against `rules` before they are set. */
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
   * Grants credit. A negative amount takes credit back, at most what the account has.
   *
   * @returns the new balance and the amount that was granted or taken back.
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
   * Sets a new random password and ends the user's sessions. Revokes their management tokens too, unless `keepTokens` is
   * given. The password cannot be read again.
   */
  resetPassword(
    params: { readonly email: string; readonly keepTokens?: boolean },
    options?: RequestOptions,
  ): Promise<{ readonly password: string; readonly revokedTokens: number }> {
    return this.#rpc.mutate("operator.users.resetPassword", params, options);
  }
}
