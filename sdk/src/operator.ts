import type { ClientOptions } from "./client.ts";
import { OstiaryError } from "./core/errors.ts";
import { given } from "./core/given.ts";
import { Rpc } from "./core/rpc.ts";
import { prefixOf, refuseWebPages, secretOf, transportOf } from "./core/settings.ts";
import type { RequestOptions } from "./core/transport.ts";

/** An account as operators see it. */
export interface OperatedAccount {
  readonly id: string;
  readonly name: string;
  readonly plan: "free" | "pro" | "enterprise";
  readonly state: "active" | "suspended";
  readonly createdAt: Date;
  readonly [field: string]: unknown;
}

/** A change of an account, and what comes with it. */
export interface AccountChange {
  readonly [field: string]: unknown;
}

type Reasoned = { readonly reason?: string | undefined };

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
  }

  /** How each upstream has answered the node that is asked. */
  upstreams(
    options?: RequestOptions,
  ): Promise<{ readonly upstreams: readonly Readonly<Record<string, unknown>>[] }> {
    return this.#rpc.query("operator.upstreams", undefined, options);
  }

  /** Whether balances and usage are the sums that they should be. */
  checkBooks(
    params: { readonly hours?: number | undefined } = {},
    options?: RequestOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    return this.#rpc.query("operator.checkBooks", { hours: 24, ...given(params) }, options);
  }

  /** Who changed what, newest first. */
  audit(
    params: {
      readonly accountId?: string | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    } = {},
    options?: RequestOptions,
  ): Promise<{
    readonly actions: readonly Readonly<Record<string, unknown>>[];
    readonly nextCursor: string | null;
  }> {
    return this.#rpc.query("operator.audit", { limit: 50, ...given(params) }, options);
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
    params: {
      readonly search?: string | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    } = {},
    options?: RequestOptions,
  ): Promise<{ readonly accounts: readonly OperatedAccount[]; readonly nextCursor: string | null }> {
    return this.#rpc.query("operator.accounts.list", { search: "", limit: 50, ...given(params) }, options);
  }

  get(id: string, options?: RequestOptions): Promise<OperatedAccount> {
    return this.#rpc.query("operator.accounts.get", { id }, options);
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
    params: Reasoned & { readonly plan: "free" | "pro" | "enterprise" },
    options?: RequestOptions,
  ): Promise<AccountChange> {
    return this.#rpc.mutate("operator.accounts.setPlan", { id, ...given(params) }, options);
  }

  setIpRules(
    id: string,
    params: Reasoned & {
      readonly rules: { readonly mode?: "enforce" | "report"; readonly networks: readonly string[] };
    },
    options?: RequestOptions,
  ): Promise<AccountChange> {
    return this.#rpc.mutate("operator.accounts.setIpRules", { id, ...given(params) }, options);
  }

  setLimits(
    id: string,
    params: Reasoned & {
      readonly limits: {
        readonly requestsPerMinute: number | null;
        readonly tokensPerMinute: number | null;
        readonly concurrentRequests: number | null;
      };
    },
    options?: RequestOptions,
  ): Promise<AccountChange> {
    return this.#rpc.mutate("operator.accounts.setLimits", { id, ...given(params) }, options);
  }

  /** Negative: takes credit back. */
  grantCredits(
    id: string,
    params: { readonly amountNanoUsd: bigint; readonly reason: string },
    options?: RequestOptions,
  ): Promise<{ readonly balanceNanoUsd: bigint }> {
    return this.#rpc.mutate("operator.accounts.grantCredits", { id, ...params }, options);
  }
}
