import { SESSION_LENGTH, type Session, type SignIn } from "../accounts/sign-in.ts";
import type { AccountId } from "../contract/account.ts";
import { Failure } from "../errors/failure.ts";
import { Cookie } from "../secrets/oslo.ts";
import { accountOfSession } from "./caller.ts";

/** The headers of a request: all values of a name in lower case. */
interface Sent {
  header(name: string): readonly string[];
}

/** The address at which browsers reach the service. */
export interface BrowserAddress {
  /** Scheme, host and port; `null`: those of each request. */
  readonly origin: string | null;
  readonly isHttps: boolean;
}

export type DashboardSessions = ReturnType<typeof dashboardSessions>;

/** Authenticates dashboard requests that call no procedures, by the same cookie and rules. */
export function dashboardSessions(signIn: SignIn, address: BrowserAddress) {
  const cookie = sessionCookie(address);
  return {
    /** @throws {Failure} as {@link accountOfSession}. */
    accountOf: (request: Sent, sourceIp: string | null): Promise<AccountId> =>
      accountOfSession(signIn, cookie.read(headersOf(request)), sourceIp),
    /** @throws {Failure} as {@link requireSameOrigin}. */
    requireSameOrigin: (request: Sent) => requireSameOrigin(headersOf(request), address),
  };
}

/** Joins repeated headers, as a web-standard request does. */
function headersOf(request: Sent): Pick<Headers, "get"> {
  return {
    get: (name) => {
      const values = request.header(name);
      return values.length === 0 ? null : values.join(name === "cookie" ? "; " : ", ");
    },
  };
}

const TOKEN = /^[0-9A-Za-z]{1,64}$/;

export type SessionCookie = ReturnType<typeof sessionCookie>;

/** The cookie that holds a session's token. */
export function sessionCookie({ isHttps: secure }: Pick<BrowserAddress, "isHttps">) {
  // A sibling host cannot plant a `__Host-` cookie, but browsers accept it over HTTPS only.
  const cookieName = secure ? "__Host-ostiary_session" : "ostiary_session";
  const write = (value: string, maxAge: number) =>
    new Cookie(cookieName, value, { httpOnly: true, secure, sameSite: "lax", path: "/", maxAge }).serialize();
  return {
    read: (headers: Pick<Headers, "get">): string | null => {
      // No other cookie is parsed, because another site of the same host may have set malformed ones.
      for (const pair of (headers.get("cookie") ?? "").split(";")) {
        const [name, value] = pair.trim().split("=", 2);
        if (name === cookieName && value !== undefined && TOKEN.test(value)) return value;
      }
      return null;
    },
    /** A `Set-Cookie` value that keeps the session's token. */
    keep: ({ token }: Session) => write(token, SESSION_LENGTH.seconds()),
    /** A `Set-Cookie` value that makes the browser forget the token. */
    forget: () => write("", 0),
  };
}

/**
 * Refuses a request that a page of another site has made the browser send. Requests from outside a browser have neither header, and no
 * cookie that a page could abuse.
 *
 * @throws {Failure} `permission_denied`
 */
export function requireSameOrigin(headers: Pick<Headers, "get">, address: BrowserAddress): void {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  const crossSite = site !== null && site !== "same-origin" && site !== "none";
  if (crossSite || (origin !== null && origin !== (address.origin ?? ownOrigin(headers, address)))) {
    throw new Failure(
      "permission_denied",
      "The request came from a page of another site. Open the dashboard at its own address and try again.",
    );
  }
}

/** The expected origin without a configured public address: the host of the request. */
function ownOrigin(headers: Pick<Headers, "get">, { isHttps }: BrowserAddress): string {
  return `${isHttps ? "https" : "http"}://${headers.get("host") ?? ""}`;
}
