import { SESSION_LENGTH, type Session } from "../accounts/sign-in.ts";
import { Cookie, parseCookies } from "../secrets/oslo.ts";

/** The cookie that holds a session's token. */
export class SessionCookie {
  readonly #name: string;
  readonly #secure: boolean;

  /** `secure`: whether browsers reach the service over HTTPS. */
  constructor(secure: boolean) {
    // A `__Host-` cookie can't be planted by a sibling host, but browsers take it over HTTPS only.
    this.#name = secure ? "__Host-ostiary_session" : "ostiary_session";
    this.#secure = secure;
  }

  read(request: Request): string | null {
    return parseCookies(request.headers.get("cookie") ?? "").get(this.#name) ?? null;
  }

  /** A `Set-Cookie` value that keeps the session's token. */
  keep({ token }: Session): string {
    return this.#cookie(token, SESSION_LENGTH.seconds());
  }

  /** A `Set-Cookie` value that makes the browser forget the token. */
  forget(): string {
    return this.#cookie("", 0);
  }

  #cookie(value: string, maxAge: number): string {
    const attributes = { httpOnly: true, secure: this.#secure, sameSite: "lax", path: "/", maxAge } as const;
    return new Cookie(this.#name, value, attributes).serialize();
  }
}
