import { type ActionsExportParams, actionLines } from "./audit/export-actions.ts";
import type { ClientOptions } from "./client.ts";
import type {
  AccountChange,
  AccountListParams,
  CatalogInForce,
  JournalReplay,
  ListedAccount,
  NodeSettings,
  ReconciliationReport,
  RejectedLine,
  RejectedLines,
  SecurityParams,
  ServiceUsage,
  ServiceUsageParams,
} from "./contract/operator.ts";
import type { Procedures } from "./contract/procedures.ts";
import type { APIPromise } from "./core/api-promise.ts";
import { objectOf } from "./core/checks.ts";
import type { Decimals } from "./core/decimals.ts";
import { OstiaryError } from "./core/errors.ts";
import { missingToken, prefixOf, refuseBrowsers, secretOf, transportOf } from "./core/settings.ts";
import { newIdempotencyKey, type RequestOptions } from "./core/transport.ts";
import { openTrpc, type Trpc } from "./core/trpc.ts";

export type { ActionsExportParams } from "./audit/export-actions.ts";
export * from "./audit/verify-actions.ts";
export type * from "./contract/operator.ts";

type Operator = Procedures["operator"];
type Accounts = Operator["accounts"];
/** The input of a procedure for one account, without the account's id, which is an argument of its own. */
type ForAccount<Name extends keyof Accounts> = Omit<NonNullable<Accounts[Name]["input"]>, "id">;

/**
 * The service for its operators: `new OstiaryOperator()` reads an operator's management token from
 * `OSTIARY_MANAGEMENT_TOKEN`. Every change is recorded in the audit trail and is in force on every node once its call has resolved.
 *
 * @example
 * ```ts
 * import { OstiaryOperator } from "ostiary/operator";
 *
 * const operator = new OstiaryOperator();
 * const { accounts } = await operator.accounts.list({ state: "active", limit: 10 });
 * for (const { name, plan, balanceNanoUsd } of accounts) console.log(name, plan, balanceNanoUsd);
 * ```
 */
export class OstiaryOperator {
  /** The accounts of the service. */
  readonly accounts: OperatedAccounts;
  /** The users of accounts. */
  readonly users: OperatedUsers;
  /** The nodes of the service and their reserved credit. */
  readonly nodes: OperatedNodes;
  /** Journal lines that could not be read or recorded. */
  readonly journal: OperatedJournal;
  /** Every procedure that operators may call: `operator.trpc.operator.warnings.query()`. */
  readonly trpc: Trpc;

  /** @throws {OstiaryError} there is no management token, an option is not valid, or this is a browser or an app. */
  constructor(options: Omit<ClientOptions, "apiKey"> = {}) {
    refuseBrowsers(options);
    const prefix = prefixOf(options.service);
    const token = secretOf("management token", options.managementToken, `${prefix}_MANAGEMENT_TOKEN`);
    if (token === undefined) throw missingToken(prefix);
    this.trpc = openTrpc(transportOf(options, prefix, () => token).transport);
    this.accounts = new OperatedAccounts(this.trpc);
    this.users = new OperatedUsers(this.trpc);
    this.nodes = new OperatedNodes(this.trpc);
    this.journal = new OperatedJournal(this.trpc);
  }

  /** Usage of all accounts. Grouped, the 50 accounts or 200 models with the highest cost have rows of their own. */
  usage(params: ServiceUsageParams, options?: RequestOptions): APIPromise<ServiceUsage> {
    return this.trpc.operator.usage.query(params, options);
  }

  /** Failed sign-ins, refused keys and other security events, last seen first. */
  security(
    params: SecurityParams = {},
    options?: RequestOptions,
  ): APIPromise<Decimals<Operator["security"]["output"]>> {
    return this.trpc.operator.security.query(params, options);
  }

  /** Health of each upstream, as the answering node sees it. */
  upstreams(options?: RequestOptions): APIPromise<Decimals<Operator["upstreams"]["output"]>> {
    return this.trpc.operator.upstreams.query(undefined, options);
  }

  /** The current catalog with its routes, without credentials. */
  catalog(options?: RequestOptions): APIPromise<CatalogInForce> {
    return this.trpc.operator.catalog.query(undefined, options);
  }

  /** Compares balances with ledgers and usage with audit entries, and reports reserved credit. */
  checkBooks(
    params: NonNullable<Operator["checkBooks"]["input"]> = {},
    options?: RequestOptions,
  ): APIPromise<ReconciliationReport> {
    return this.trpc.operator.checkBooks.query(params, options);
  }

  /** The audit trail, newest first. */
  audit(
    params: NonNullable<Operator["audit"]["input"]> = {},
    options?: RequestOptions,
  ): APIPromise<Decimals<Operator["audit"]["output"]>> {
    return this.trpc.operator.audit.query(params, options);
  }

  /** Exports the whole audit trail as lines of JSON, oldest first. `verifyActionsExport` verifies them without the service. */
  exportActions(
    params: ActionsExportParams = {},
    options?: RequestOptions,
  ): AsyncGenerator<string, void, undefined> {
    return actionLines(params, (page) => this.trpc.operator.exportActions.query(page, options));
  }

  /** Verifies that the audit trail is unmodified, some thousand actions per call. Pass `next` as `after` to continue. */
  verifyActions(
    params: NonNullable<Procedures["operator"]["verifyActions"]["input"]> = {},
    options?: RequestOptions,
  ): Promise<Procedures["operator"]["verifyActions"]["output"]> {
    return this.trpc.operator.verifyActions.query(params, options);
  }
}

/** Nodes, the credit that they have reserved, and whether they have the same settings, for operators. */
export class OperatedNodes {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  /** A row for each start of a node that has reserved credit, oldest first. */
  list(options?: RequestOptions): APIPromise<Decimals<Operator["nodes"]["list"]["output"]>> {
    return this.#trpc.operator.nodes.list.query(undefined, options);
  }

  /**
   * Compares the settings that all nodes must share: plans, catalog, prices, and the keys and retention of stored responses.
   *
   * @returns digests of the settings of each running node, and the settings that differ.
   */
  settings(options?: RequestOptions): APIPromise<NodeSettings> {
    return this.#trpc.operator.nodes.settings.query(undefined, options);
  }

  /**
   * Releases the credit of a node that will not return. If it returns after all, its pending charges may not be collected.
   * A node that was seen in the last minute is refused unless `force` is set.
   *
   * @param id as {@link list} shows it.
   * @throws {OstiaryError} the id is not a whole number.
   * @returns the amount released and the number of accounts it belongs to.
   */
  release(
    id: string,
    params: Omit<Operator["nodes"]["release"]["input"], "id">,
    options?: RequestOptions,
  ): APIPromise<Decimals<Operator["nodes"]["release"]["output"]>> {
    return this.#trpc.operator.nodes.release.mutate({ id: bigintOf("id", id), ...params }, options);
  }
}

/**
 * Lines of a node's journal that could not be read or recorded, for operators. Each node has a journal of its own: with several
 * nodes, make the client with the node's own address.
 */
export class OperatedJournal {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  /** Lists the lines, with the beginning of each. */
  list(
    params: NonNullable<Operator["journal"]["list"]["input"]> = {},
    options?: RequestOptions,
  ): APIPromise<RejectedLines> {
    return this.#trpc.operator.journal.list.query(params, options);
  }

  /** One line, with up to 64 KiB of its text. */
  get(id: string, options?: RequestOptions): APIPromise<RejectedLine> {
    return this.#trpc.operator.journal.get.query({ id }, options);
  }

  /** Records and charges the requests of lines; without `ids`, of all lines that can be read. */
  replay(
    params: NonNullable<Operator["journal"]["replay"]["input"]> = {},
    options?: RequestOptions,
  ): APIPromise<JournalReplay> {
    return this.#trpc.operator.journal.replay.mutate(params, options);
  }

  /** Deletes lines permanently. Their requests are never recorded or charged. */
  discard(
    params: Operator["journal"]["discard"]["input"],
    options?: RequestOptions,
  ): APIPromise<Decimals<Operator["journal"]["discard"]["output"]>> {
    return this.#trpc.operator.journal.discard.mutate(params, options);
  }
}

/** Accounts, for operators. */
export class OperatedAccounts {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  /** Lists accounts, newest first or in the given order. The first page has their number in `total`. */
  list(
    params: AccountListParams = {},
    options?: RequestOptions,
  ): APIPromise<Decimals<Accounts["list"]["output"]>> {
    return this.#trpc.operator.accounts.list.query(params, options);
  }

  /** One account. @throws {NotFoundError} there is no such account. */
  get(id: string, options?: RequestOptions): APIPromise<ListedAccount> {
    return this.#trpc.operator.accounts.get.query({ id }, options);
  }

  /** Creates an account with its first user, also while sign-up is closed. The answer contains the password; it cannot be read again. */
  create(
    params: Accounts["create"]["input"],
    options?: RequestOptions,
  ): APIPromise<Decimals<Accounts["create"]["output"]>> {
    return this.#trpc.operator.accounts.create.mutate(params, options);
  }

  /** Suspends an account. Once this has resolved, every request with a key or management token of the account is refused. */
  suspend(id: string, params: ForAccount<"suspend">, options?: RequestOptions): APIPromise<AccountChange> {
    return this.#trpc.operator.accounts.suspend.mutate({ id, ...params }, options);
  }

  /** Ends the suspension of an account. */
  reinstate(
    id: string,
    params: ForAccount<"reinstate"> = {},
    options?: RequestOptions,
  ): APIPromise<AccountChange> {
    return this.#trpc.operator.accounts.reinstate.mutate({ id, ...params }, options);
  }

  /** Sets the plan. Existing keys stay, even if the new plan allows fewer. */
  setPlan(id: string, params: ForAccount<"setPlan">, options?: RequestOptions): APIPromise<AccountChange> {
    return this.#trpc.operator.accounts.setPlan.mutate({ id, ...params }, options);
  }

  /** Sets the networks that keys may be used from. Omit `mode` to keep the current one. */
  setIpRules(
    id: string,
    params: ForAccount<"setIpRules">,
    options?: RequestOptions,
  ): APIPromise<AccountChange> {
    return this.#trpc.operator.accounts.setIpRules.mutate({ id, ...params }, options);
  }

  /** Tests an address against the account's rules, or against `rules` before they are set. */
  tryIpRules(
    id: string,
    params: ForAccount<"tryIpRules">,
    options?: RequestOptions,
  ): APIPromise<Decimals<Accounts["tryIpRules"]["output"]>> {
    return this.#trpc.operator.accounts.tryIpRules.query({ id, ...params }, options);
  }

  /** Sets limits of the account's own; `null` uses the plan's. Omitted limits stay as they are. */
  setLimits(
    id: string,
    params: ForAccount<"setLimits">,
    options?: RequestOptions,
  ): APIPromise<AccountChange> {
    return this.#trpc.operator.accounts.setLimits.mutate({ id, ...params }, options);
  }

  /**
   * Grants credit. A negative amount takes credit back, at most what the account has. Every call has an idempotency key, so that a
   * retry after a lost answer grants nothing twice. Give one yourself to repeat the call later, such as the number of an invoice.
   *
   * @throws {OstiaryError} the amount is not a whole number of nano-USD.
   * @returns the new balance and the amount that was granted or taken back.
   */
  grantCredits(
    id: string,
    params: Omit<ForAccount<"grantCredits">, "amountNanoUsd"> & {
      /** The amount in nano-USD: a `bigint`, or a decimal string. Not 0, and at most 9 million USD either way. */
      readonly amountNanoUsd: bigint | string;
    },
    options?: RequestOptions,
  ): APIPromise<Decimals<Accounts["grantCredits"]["output"]>> {
    const amountNanoUsd = bigintOf("amountNanoUsd", objectOf("params", params).amountNanoUsd);
    const idempotencyKey = params.idempotencyKey ?? newIdempotencyKey();
    return this.#trpc.operator.accounts.grantCredits.mutate(
      { ...params, id, amountNanoUsd, idempotencyKey },
      options,
    );
  }
}

/** Users, for operators. */
export class OperatedUsers {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  /**
   * Sets a new random password and ends the user's sessions. Revokes their management tokens too, unless `revokeTokens` is
   * `false`. The password cannot be read again.
   */
  resetPassword(
    params: Operator["users"]["resetPassword"]["input"],
    options?: RequestOptions,
  ): APIPromise<Decimals<Operator["users"]["resetPassword"]["output"]>> {
    return this.#trpc.operator.users.resetPassword.mutate(params, options);
  }
}

/** @throws {OstiaryError} the value is not a whole number. */
function bigintOf(name: string, value: bigint | string): bigint {
  try {
    return BigInt(value);
  } catch (cause) {
    throw new OstiaryError(`${name} must be a whole number.`, { cause });
  }
}
