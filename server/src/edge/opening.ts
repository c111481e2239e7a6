import { validate } from "uuid";
import type { Access, Caller, Permission } from "../access/access.ts";
import { readManagementToken } from "../access/bearer.ts";
import type { AccountId } from "../accounts/account.ts";
import type { Visit } from "../accounts/user.ts";
import { Failure } from "../errors/failure.ts";
import type { KeyUuid } from "../keys/key.ts";
import type { OpenedBy } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";

/** What a request came with, and what it was permitted by that. */
export interface Opening {
  /** The key in whose log the request stands; `null` where there is none. */
  readonly caller: Caller | null;
  /** Of a key: what was decided, once it was. */
  readonly permission: Permission | null;
  /** Why a key that was shown is nobody's, where the request needs none. */
  readonly refusedKey?: Failure | null;
  /**
   * Decides whether the request may pass, by the present state of what it came with. Asked again it says the same.
   *
   * @param address the client's; `null` when it could not be told.
   * @param tokens what the request is estimated to take of the account's limits; `null` when they do not bear on it.
   * @throws {Failure | RefusedCaller} when it may not.
   */
  confirm(address: string | null, tokens: number | null): Promise<AccountId>;
}

/** People at the dashboard, whom their browser's cookie tells. */
export interface Sessions {
  /** @throws {Failure} `not_signed_in`; `permission_denied` for an operator, who has no account. */
  accountOf(exchange: Pick<Exchange, "header">): Promise<AccountId>;
  /** @throws {Failure} `permission_denied` when another site's page has made the browser send the request. */
  requireSameOrigin(exchange: Pick<Exchange, "header">): void;
}

export interface OpeningParts {
  readonly access: Access;
  /** The account that a management token may act for. @throws {Failure} when there is none. */
  readonly accountOfToken: (token: string, visit: Visit) => Promise<AccountId>;
  readonly sessions: Sessions;
}

/**
 * Finds whose request it is, without deciding whether it may pass: at once where nothing has to be read for it.
 *
 * @throws {Failure} when that can be told already: what it came with opens nothing.
 */
export function identify(
  parts: OpeningParts,
  openedBy: OpenedBy,
  exchange: Exchange,
): Opening | Promise<Opening> {
  switch (openedBy) {
    case "anyone":
      return identifyAnyone(parts, exchange);
    case "key":
      return identifyKey(parts, exchange);
    case "key-or-management-token": {
      const token = readManagementToken(exchange.header("authorization"));
      if (token === null) return identifyKey(parts, exchange);
      const userAgent = exchange.header("user-agent")[0] ?? null;
      return new AccountOpening((sourceIp) => parts.accountOfToken(token, { sourceIp, userAgent }));
    }
    case "session":
      return new AccountOpening(() => parts.sessions.accountOf(exchange));
    case "session-as-key":
      return identifyAsKey(parts, exchange);
  }
}

/** Nobody has to show a key, but one that is shown says in whose log the request stands. */
function identifyAnyone(parts: OpeningParts, exchange: Exchange): Opening | Promise<Opening> {
  const [authorization] = exchange.header("authorization");
  if (authorization === undefined || !SHOWS_KEY.test(authorization)) return FOR_ANYONE;
  return identifyShownKey(parts, exchange);
}

async function identifyShownKey({ access }: OpeningParts, exchange: Exchange): Promise<Opening> {
  try {
    return { ...FOR_ANYONE, caller: await access.identify(exchange.header("authorization")) };
  } catch (thrown) {
    if (!(thrown instanceof Failure) || thrown.status >= 500) throw thrown;
    return { ...FOR_ANYONE, refusedKey: thrown };
  }
}

function identifyKey({ access }: OpeningParts, exchange: Exchange): Opening | Promise<Opening> {
  const caller = access.identify(exchange.header("authorization"));
  if (caller instanceof Promise) return caller.then((read) => new KeyOpening(access, read));
  return new KeyOpening(access, caller);
}

/** The key is named, not shown: that whoever is signed in may use it is for their session to say, now and at the end. */
async function identifyAsKey({ access, sessions }: OpeningParts, exchange: Exchange): Promise<Opening> {
  sessions.requireSameOrigin(exchange);
  const accountId = await sessions.accountOf(exchange);
  const caller = await access.identifyAs(accountId, readKeyUuid(exchange.header("ostiary-key")));
  if (caller !== null) return new KeyOpening(access, caller, () => sessions.accountOf(exchange));
  throw new Failure("not_found", "The account has no such key. List its keys to find the id.", {
    param: "ostiary-key",
  });
}

function readKeyUuid([value, ...others]: readonly string[]): KeyUuid {
  if (value !== undefined && others.length === 0 && validate(value)) return value.toLowerCase() as KeyUuid;
  throw new Failure("invalid_request", "ostiary-key: must come once, with the id of a key", {
    param: "ostiary-key",
  });
}

const SHOWS_KEY = /^Bearer sk-/;

/** What is for anyone knows no account. */
const FOR_ANYONE: Opening = {
  caller: null,
  permission: null,
  confirm: async () => {
    throw new Failure("internal_error", "There is no account to act for.");
  },
};

/** A request made with a key, or by who may name one. */
class KeyOpening implements Opening {
  readonly caller: Caller;
  permission: Permission | null = null;
  readonly #access: Access;
  /** What the right to name the key comes from, to be asked again: it may have ended while the body came. */
  readonly #requireSession: (() => Promise<unknown>) | null;
  #confirmed: Promise<AccountId> | null = null;

  constructor(access: Access, caller: Caller, requireSession: (() => Promise<unknown>) | null = null) {
    this.#access = access;
    this.caller = caller;
    this.#requireSession = requireSession;
  }

  confirm(address: string | null, tokens: number | null): Promise<AccountId> {
    this.#confirmed ??= this.#decide(address, tokens);
    return this.#confirmed;
  }

  async #decide(address: string | null, tokens: number | null): Promise<AccountId> {
    if (this.#requireSession !== null) await this.#requireSession();
    this.permission = await this.#access.confirm(this.caller, address, tokens);
    return this.permission.snapshot.account.id;
  }
}

/** A request for an account, with none of its keys. */
class AccountOpening implements Opening {
  readonly caller = null;
  readonly permission = null;
  readonly #accountFrom: (address: string | null) => Promise<AccountId>;
  #confirmed: Promise<AccountId> | null = null;

  constructor(accountFrom: (address: string | null) => Promise<AccountId>) {
    this.#accountFrom = accountFrom;
  }

  confirm(address: string | null): Promise<AccountId> {
    this.#confirmed ??= this.#accountFrom(address);
    return this.#confirmed;
  }
}
