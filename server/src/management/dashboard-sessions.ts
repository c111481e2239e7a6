import type { SignIn } from "../accounts/sign-in.ts";
import type { AccountId } from "../contract/account.ts";
import { accountOfSession } from "./caller.ts";
import { requireSameOrigin } from "./same-origin.ts";
import { SessionCookie } from "./session-cookie.ts";

/** A request as far as its headers go: every value of one, by its name in lower case. */
interface Sent {
  header(name: string): readonly string[];
}

/** People at the dashboard, for what they do there beside calling procedures: by the same cookie, under the same rules. */
export class DashboardSessions {
  readonly #signIn: SignIn;
  readonly #publicOrigin: string | null;
  readonly #cookie: SessionCookie;

  constructor(signIn: SignIn, publicOrigin: string | null) {
    this.#signIn = signIn;
    this.#publicOrigin = publicOrigin;
    this.#cookie = new SessionCookie(publicOrigin);
  }

  /** @throws {Failure} as {@link accountOfSession}. */
  accountOf(request: Sent): Promise<AccountId> {
    return accountOfSession(this.#signIn, this.#cookie.read(headersOf(request)));
  }

  /** @throws {Failure} as {@link requireSameOrigin}. */
  requireSameOrigin(request: Sent): void {
    requireSameOrigin(headersOf(request), this.#publicOrigin);
  }
}

/** A header that came several times is one, as it is in a web-standard request. */
function headersOf(request: Sent): Pick<Headers, "get"> {
  return {
    get: (name) => {
      const values = request.header(name);
      return values.length === 0 ? null : values.join(name === "cookie" ? "; " : ", ");
    },
  };
}
