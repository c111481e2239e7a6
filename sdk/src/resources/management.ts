import type {
  Account,
  Balance,
  CreatedKey,
  Key,
  KeyCreateParams,
  KeyRotateParams,
  LedgerEntry,
  ListedKey,
  UsageSummary,
  UsageSummaryParams,
} from "../contract/management.ts";
import { Page, PagePromise } from "../core/pagination.ts";
import type { RequestOptions } from "../core/transport.ts";
import type { Trpc } from "../core/trpc.ts";

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
   */
  async list(options?: RequestOptions): Promise<readonly ListedKey[]> {
    const keys: ListedKey[] = [];
    for (let cursor: string | null = null; ; ) {
      const input: { readonly cursor: string } | undefined = cursor === null ? undefined : { cursor };
      const page: KeyPage = await this.#trpc.keys.list.query(input, options);
      keys.push(...page.keys);
      if (page.nextCursor === null) return keys;
      cursor = page.nextCursor;
    }
  }

  /**
   * Creates a key. The answer contains its string, which cannot be read again. Retries create no second key.
   *
   * @throws {PermissionDeniedError} without a management token.
   * @throws {ConflictError} the name is in use (`conflict`), or the plan allows no more keys (`key_limit_reached`).
   */
  create(params: KeyCreateParams, options?: RequestOptions): Promise<CreatedKey> {
    return this.#trpc.keys.create.mutate(withIdempotencyKey(params), options);
  }

  /** Creates a successor. Both keys work until you revoke the old one; {@link Keys.list} shows whether it is idle. */
  rotate(id: string, params: KeyRotateParams = {}, options?: RequestOptions): Promise<CreatedKey> {
    return this.#trpc.keys.rotate.mutate({ id, ...withIdempotencyKey(params) }, options);
  }

  /** Revokes a key permanently. Once this has resolved, every node refuses it. */
  revoke(id: string, options?: RequestOptions): Promise<Key> {
    return this.#trpc.keys.revoke.mutate({ id }, options);
  }
}

/** Usage of the account. */
export class Usage {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  /** Requests, errors, tokens and cost by hour, day or month. Totals are the sum of the audit entries. */
  summary(params: UsageSummaryParams, options?: RequestOptions): Promise<UsageSummary> {
    return this.#trpc.usage.summary.query(params, options);
  }
}

/** The account itself. */
export class AccountResource {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  get(options?: RequestOptions): Promise<Account> {
    return this.#trpc.account.get.query(undefined, options);
  }
}

/** The account's credit. */
export class Credits {
  readonly #trpc: Trpc;

  constructor(trpc: Trpc) {
    this.#trpc = trpc;
  }

  balance(options?: RequestOptions): Promise<Balance> {
    return this.#trpc.credits.balance.query(undefined, options);
  }

  /** Lists grants, adjustments and charges, newest first. */
  ledger(
    params: { readonly limit?: number | undefined; readonly cursor?: string | undefined } = {},
    options?: RequestOptions,
  ): PagePromise<LedgerEntry> {
    return new PagePromise((resolve, reject) => {
      this.#page(params, options).then(resolve, reject);
    });
  }

  async #page(
    params: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
    options: RequestOptions | undefined,
  ): Promise<Page<LedgerEntry>> {
    const { entries, nextCursor } = await this.#trpc.credits.ledger.query({ limit: 50, ...params }, options);
    return new Page(entries, nextCursor, null, (cursor) => this.#page({ ...params, cursor }, options));
  }
}

/** Retries must not create a second key. */
function withIdempotencyKey<Params extends { readonly idempotencyKey?: string | undefined }>(params: Params) {
  return { idempotencyKey: crypto.randomUUID(), ...params };
}
