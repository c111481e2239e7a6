import { type ActionsExportParams, actionLines } from "../audit/export-actions.ts";
import type {
  Account,
  AccountAction,
  Balance,
  CreatedKey,
  Key,
  KeyAddress,
  KeyCreateParams,
  KeyRotateParams,
  KeyUse,
  LedgerEntry,
  LimitUse,
  ListedKey,
  PageParams,
  StatementLine,
  UsagePerformance,
  UsagePerformanceParams,
  UsageSummary,
  UsageSummaryParams,
} from "../contract/management.ts";
import type { Procedures } from "../contract/procedures.ts";
import type { APIPromise } from "../core/api-promise.ts";
import { objectOf } from "../core/checks.ts";
import { Page, PagePromise } from "../core/pagination.ts";
import { newIdempotencyKey, type RequestOptions } from "../core/transport.ts";
import { listIn, type Trpc } from "../core/trpc.ts";

/** A page of `keys.list`. */
interface KeyPage {
  readonly keys: readonly ListedKey[];
  readonly nextCursor: string | null;
}

/** The account's API keys. Creating, rotating and revoking requires a management token. */
export class Keys {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  /**
   * Lists all keys with their use: active keys first, then revoked ones, each newest first. Fetches pages of 1,000.
   *
   * @example
   * ```ts
   * for (const { name, keyId, usage } of await client.keys.list()) console.log(name, keyId, usage.lastUsedAt);
   * ```
   */
  async list(options?: RequestOptions): Promise<readonly ListedKey[]> {
    const keys: ListedKey[] = [];
    for (let cursor: string | null = null; ; ) {
      const input: { readonly cursor: string } | undefined = cursor === null ? undefined : { cursor };
      const { data }: { readonly data: KeyPage } = await listIn(
        this.#trpc.keys.list.query(input, options),
        "keys",
      );
      keys.push(...data.keys);
      if (!data.nextCursor) return keys;
      cursor = data.nextCursor;
    }
  }

  /**
   * Creates a key. The answer contains its string, which cannot be read again. Retries create no second key.
   *
   * @example
   * ```ts
   * const { key, keyId } = await client.keys.create({ name: "reports" });
   * console.log(`Store this key now: ${key}. Lists show it as …${keyId}.`);
   * ```
   *
   * @throws {PermissionDeniedError} without a management token.
   * @throws {ConflictError} the name is in use (`conflict`), or the plan allows no more keys (`key_limit_reached`).
   */
  create(params: KeyCreateParams, options?: RequestOptions): APIPromise<CreatedKey> {
    return this.#trpc.keys.create.mutate(withIdempotencyKey(params), options);
  }

  /**
   * Creates a successor. Both keys work until you revoke the old one; {@link Keys.list} shows whether it is idle.
   *
   * @example
   * ```ts
   * const { id } = await client.keys.create({ name: "nightly" });
   * const successor = await client.keys.rotate(id, { idleAfterSeconds: 3_600 });
   * console.log(`${successor.name} replaces nightly`); // deploy successor.key
   * if ((await client.keys.usage(id)).rotation?.isIdle) await client.keys.revoke(id);
   * ```
   */
  rotate(id: string, params: KeyRotateParams = {}, options?: RequestOptions): APIPromise<CreatedKey> {
    return this.#trpc.keys.rotate.mutate({ id, ...withIdempotencyKey(params) }, options);
  }

  /** The present use of a key, and how far its successor has taken over. */
  usage(id: string, options?: RequestOptions): APIPromise<KeyUse> {
    return this.#trpc.keys.usage.query({ id }, options);
  }

  /** The addresses from which a key was used in the last 30 days, the latest first: at most 100. */
  async addresses(id: string, options?: RequestOptions): Promise<readonly KeyAddress[]> {
    return (await listIn(this.#trpc.keys.addresses.query({ id }, options), "addresses")).data.addresses;
  }

  /** Revokes a key permanently. Once this has resolved, every node refuses it. */
  revoke(id: string, options?: RequestOptions): APIPromise<Key> {
    return this.#trpc.keys.revoke.mutate({ id }, options);
  }
}

/** Usage of the account. */
export class Usage {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  /**
   * Requests, errors, tokens and cost by hour, day or month. Totals are the sum of the audit entries.
   *
   * @example
   * ```ts
   * const from = new Date(Date.now() - 7 * 24 * 60 * 60_000);
   * const { rows, total } = await client.usage.summary({ from, to: new Date(), interval: "day", groupBy: "model" });
   * for (const { start, model, costNanoUsd } of rows) console.log(start, model, costNanoUsd);
   * console.log(total.requests, total.costNanoUsd);
   * ```
   */
  summary(params: UsageSummaryParams, options?: RequestOptions): APIPromise<UsageSummary> {
    return this.#trpc.usage.summary.query(params, options);
  }

  /**
   * Median and 95th percentile of latency and of time to first token in milliseconds, by interval and by upstream. Measures the newest
   * 20,000 requests of the period.
   *
   * @example
   * ```ts
   * const from = new Date(Date.now() - 24 * 60 * 60_000);
   * const { upstreams } = await client.usage.performance({ from, to: new Date(), interval: "hour" });
   * for (const { upstream, latencyMs } of upstreams) console.log(upstream, latencyMs.p50, latencyMs.p95);
   * ```
   */
  performance(params: UsagePerformanceParams, options?: RequestOptions): APIPromise<UsagePerformance> {
    return this.#trpc.usage.performance.query(params, options);
  }
}

/** The account itself. */
export class AccountResource {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  /** The account with its plan, its IP rules and the limits in force. */
  get(options?: RequestOptions): APIPromise<Account> {
    return this.#trpc.account.get.query(undefined, options);
  }

  /**
   * The limits in force and their present use. Without a limit nothing is counted.
   *
   * @example
   * ```ts
   * const { limits, used } = await client.account.limits();
   * console.log(`${used.requests} of ${limits.requestsPerMinute ?? "unlimited"} requests this minute`);
   * ```
   */
  limits(options?: RequestOptions): APIPromise<LimitUse> {
    return this.#trpc.account.limits.query(undefined, options);
  }

  /**
   * Lists the changes of the account, such as created and revoked keys, newest first. Requires a management token.
   *
   * @example
   * ```ts
   * for await (const { at, action, userEmail } of client.account.actions()) console.log(at, action, userEmail);
   * ```
   */
  actions(params: PageParams = {}, options?: RequestOptions): PagePromise<AccountAction> {
    return pages(params, "actions", (page) => this.#trpc.account.actions.query(page, options));
  }

  /**
   * Exports the changes of the account as lines of JSON, oldest first. `verifyActionsExport` verifies them without the service. Requires
   * a management token.
   */
  exportActions(
    params: ActionsExportParams = {},
    options?: RequestOptions,
  ): AsyncGenerator<string, void, undefined> {
    return actionLines(params, (page) => this.#trpc.account.exportActions.query(page, options));
  }

  /**
   * Verifies that the recorded changes are unmodified, some thousand per call. Pass `next` as `after` to continue. Requires a management
   * token.
   */
  verifyActions(
    params: NonNullable<Procedures["account"]["verifyActions"]["input"]> = {},
    options?: RequestOptions,
  ): Promise<Procedures["account"]["verifyActions"]["output"]> {
    return this.#trpc.account.verifyActions.query(params, options);
  }
}

/** The account's credit. */
export class Credits {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  /**
   * The balance, and the part of it that is reserved for requests, in nano-USD.
   *
   * @example
   * ```ts
   * const { balanceNanoUsd } = await client.credits.balance();
   * console.log(`${Number(balanceNanoUsd) / 1e9} USD`);
   * ```
   */
  balance(options?: RequestOptions): APIPromise<Balance> {
    return this.#trpc.credits.balance.query(undefined, options);
  }

  /**
   * Lists grants, adjustments and charges, newest first.
   *
   * @example
   * ```ts
   * const changes = await client.credits.ledger().toArray({ limit: 100 });
   * console.log(changes.map(({ kind, amountNanoUsd }) => `${kind}: ${amountNanoUsd}`));
   * ```
   */
  ledger(params: PageParams = {}, options?: RequestOptions): PagePromise<LedgerEntry> {
    return pages(params, "entries", (page) => this.#trpc.credits.ledger.query(page, options));
  }

  /**
   * Lists the account's statement, newest first: each grant and adjustment, and the requests of each UTC day as one line with their
   * complete sum.
   *
   * @example
   * ```ts
   * for await (const { at, kind, amountNanoUsd } of client.credits.statement()) console.log(at, kind, amountNanoUsd);
   * ```
   */
  statement(params: PageParams = {}, options?: RequestOptions): PagePromise<StatementLine> {
    return pages(params, "lines", (page) => this.#trpc.credits.statement.query(page, options));
  }
}

/** A list whose pages are fetched as they are needed. Each has its items by this name. */
function pages<Name extends string, Item>(
  params: PageParams,
  name: Name,
  fetchPage: (
    params: PageParams,
  ) => APIPromise<{ readonly [_ in Name]: readonly Item[] } & { readonly nextCursor: string | null }>,
): PagePromise<Item> {
  objectOf("params", params);
  const page = async (cursor: string | undefined): Promise<Page<Item>> => {
    const answer = fetchPage({ ...params, ...(cursor === undefined ? {} : { cursor }) });
    const { data, requestId } = await listIn(answer, name);
    return new Page(data[name], data.nextCursor || null, requestId, page);
  };
  return new PagePromise((resolve, reject) => {
    page(params.cursor).then(resolve, reject);
  });
}

/** Retries must not create a second key. */
function withIdempotencyKey<Params extends { readonly idempotencyKey?: string | undefined }>(params: Params) {
  return { ...params, idempotencyKey: params?.idempotencyKey ?? newIdempotencyKey() };
}
