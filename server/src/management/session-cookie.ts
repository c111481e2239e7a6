import { SESSION_LENGTH, type Session } from "../accounts/sign-in.ts";
import { Cookie } from "../secrets/oslo.ts";

const TOKEN = /^[0-9A-Za-z]{1,64}$/;

/** The cookie that holds a session's token. */
export class SessionCookie {
  readonly #name: string;
  readonly #secure: boolean;

  /** `publicOrigin`: where browsers reach the service; `null` where that was not configured. */
  constructor(publicOrigin: string | null) {
    const secure = publicOrigin?.startsWith("https:") ?? false;
    // A `__Host-` cookie can't be planted by a sibling host, but browsers take it over HTTPS only.
    this.#name = secure ? "__Host-ostiary_session" : "ostiary_session";
    this.#secure = secure;
  }

  read(headers: Pick<Headers, "get">): string | null {
    // Only this one is read: another site of the same host may have set cookies that can't be parsed.
    for (const pair of (headers.get("cookie") ?? "").split(";")) {
      const [name, value] = pair.trim().split("=", 2);
      if (name === this.#name && value !== undefined && TOKEN.test(value)) return value;
    }
    return null;
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
