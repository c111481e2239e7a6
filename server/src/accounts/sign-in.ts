import { v7 as uuidv7 } from "uuid";
import type { AccountId, Plan, UserId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import type { Plans } from "../contract/plans.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";
import { digestOf } from "../secrets/digest.ts";
import { randomBase62, TimeSpan } from "../secrets/oslo.ts";
import type { AttemptLimits } from "./attempts.ts";
import type { CredentialLookups } from "./credential-lookups.ts";
import type { Passwords } from "./passwords.ts";
import {
  type ClientInfo,
  type ListedSession,
  type NewAccount,
  type NewUser,
  normaliseEmail,
  type SessionId,
  type SignedIn,
} from "./user.ts";
import type { PostgresUsers } from "./users-store.ts";

/** The lifetime of sessions. Those of operators end after a working day. */
export const SESSION_LENGTH = new TimeSpan(30, "d");
const OPERATOR_SESSION_LENGTH = new TimeSpan(12, "h");

/** How a change of a user is recorded. */
export interface UserChange {
  readonly by: Actor;
  readonly at: Date;
  readonly action: "user.changePassword" | "user.resetPassword" | "user.signOutAll";
}

export interface NewSession extends ClientInfo {
  readonly id: SessionId;
  readonly digest: Uint8Array;
  readonly userId: UserId;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface FoundSession {
  readonly id: SessionId;
  readonly signedIn: SignedIn;
}

interface SignUpRequest {
  readonly email: string;
  readonly password: string;
  readonly accountName: string;
}

/** A new session. Its token goes into the cookie and is stored nowhere else. */
export interface Session {
  readonly id: SessionId;
  readonly token: string;
  readonly signedIn: SignedIn;
}

interface SignInParts {
  readonly store: PostgresUsers;
  readonly passwords: Passwords;
  readonly attempts: AttemptLimits;
  readonly plans: Plans;
  readonly security: SecurityEvents;
  readonly lookups: CredentialLookups;
  readonly now: () => Date;
}

/** Signs users up, in and out, and changes their passwords. */
export class SignIn {
  readonly #parts: SignInParts;

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  /**
   * Creates an account with its first user, and signs them in.
   *
   * @throws {Failure} `conflict` when the e-mail address is taken; `rate_limit_exceeded` after too many sign-ups from the address.
   */
  async signUp(request: SignUpRequest, clientInfo: ClientInfo): Promise<Session> {
    await this.#parts.attempts.countSignUp(clientInfo.sourceIp);
    const { signedIn, passwordHash } = await this.register(request, clientInfo);
    return this.#beginSession(signedIn, passwordHash, clientInfo);
  }

  /** Creates an account with its first user, who is not signed in by it. @throws {Failure} `conflict`: the address has a user. */
  async register(request: SignUpRequest, clientInfo: ClientInfo) {
    const account = await this.newAccount(request, "free");
    const signedIn = await this.#parts.store.createAccountWithUser(account, clientInfo);
    if (signedIn === null) throw addressTaken("Sign in instead.");
    return { signedIn, passwordHash: account.passwordHash };
  }

  /** Creates an account with its first user, unless a user with this address exists. @returns the user. */
  async ensureOwner(request: SignUpRequest): Promise<SignedIn> {
    const known = await this.#parts.store.findUser(normaliseEmail(request.email));
    if (known !== null) return known.signedIn;
    return (await this.register(request, { sourceIp: null, userAgent: null })).signedIn;
  }

  /** Whether a user has this password. It is not limited: use it for passwords that the service has generated. */
  async hasPassword(email: string, password: string): Promise<boolean> {
    const known = await this.#parts.store.findUser(normaliseEmail(email));
    return known !== null && (await this.#parts.passwords.verify(known.passwordHash, password));
  }

  /** Prepares a new account with its first user for storing. */
  async newAccount(request: SignUpRequest, plan: Plan): Promise<NewAccount> {
    return {
      accountId: uuidv7() as AccountId,
      accountName: request.accountName,
      plan,
      startingCreditsNanoUsd: this.#parts.plans[plan].startingCreditsNanoUsd,
      ...(await this.#newUser(request.email, request.password)),
    };
  }

  /** Creates an operator unless a user with this address exists. @returns `false` when one does. */
  async ensureOperator(email: string, password: string): Promise<boolean> {
    if ((await this.#parts.store.findUser(normaliseEmail(email))) !== null) return false;
    // If several nodes start together, one of them creates the operator.
    return this.#parts.store.createOperator(await this.#newUser(email, password));
  }

  /**
   * Begins a session, always with a new token, so that a token planted before the sign-in is useless.
   *
   * @throws {Failure} `wrong_credentials`, with the same message and timing for an unknown user and a wrong password;
   *   `rate_limit_exceeded` after too many attempts, even with the right password.
   */
  async signIn(email: string, password: string, clientInfo: ClientInfo): Promise<Session> {
    const name = normaliseEmail(email);
    const session = await this.#attempt(name, clientInfo, async () => {
      const found = await this.#parts.store.findUser(name);
      const matches = await this.#parts.passwords.verify(found?.passwordHash ?? null, password);
      if (found === null || !matches) throw wrongCredentials();
      return this.#beginSession(found.signedIn, found.passwordHash, clientInfo);
    });
    if (session.signedIn.role === "operator") {
      this.#parts.security.note({ kind: "operator_signed_in", email: name, sourceIp: clientInfo.sourceIp });
    }
    return session;
  }

  /** @throws {Failure} `rate_limit_exceeded` as {@link CredentialLookups.find}. */
  findSession(token: string, sourceIp: string | null): Promise<FoundSession | null> {
    const { lookups, store, now } = this.#parts;
    const digest = digestOf(token);
    return lookups.find(digest, sourceIp, () => store.findSession(digest, now()));
  }

  listSessions(userId: UserId): Promise<readonly ListedSession[]> {
    return this.#parts.store.listSessions(userId, this.#parts.now());
  }

  /** @throws {Failure} `not_found` */
  async endSession(userId: UserId, id: SessionId): Promise<void> {
    if (await this.#parts.store.deleteSession(userId, id)) return;
    throw new Failure("not_found", "No such session exists. It may have ended already.", { param: "id" });
  }

  /** Ends a session that may have ended already. */
  async leaveSession(userId: UserId, id: SessionId): Promise<void> {
    await this.#parts.store.deleteSession(userId, id);
  }

  /** Ends all sessions of the user, including the current one. */
  endAllSessions(by: Actor): Promise<void> {
    return this.#parts.store.deleteSessions(by.userId, {
      by,
      at: this.#parts.now(),
      action: "user.signOutAll",
    });
  }

  /**
   * Ends every session of the user, so that the old password keeps no one signed in. `revokeTokens` also revokes their
   * management tokens.
   *
   * @returns a new session. @throws {Failure} `wrong_credentials` when `current` is not their password.
   */
  async changePassword(
    by: Actor,
    signedIn: SignedIn,
    change: { readonly current: string; readonly next: string; readonly revokeTokens: boolean },
    clientInfo: ClientInfo,
  ): Promise<Session> {
    const { user } = signedIn;
    // Attempts are limited, because a person at an unlocked browser could otherwise guess the password.
    return this.#attempt(user.email, clientInfo, async () => {
      const verified = await this.#parts.store.findPasswordHash(user.id);
      if (verified === null || !(await this.#parts.passwords.verify(verified, change.current))) {
        throw wrongCurrent();
      }
      const next = await this.#parts.passwords.hash(change.next);
      const { session, stored } = this.#newSession(signedIn, clientInfo);
      const { revokeTokens } = change;
      const record = { by, at: this.#parts.now(), action: "user.changePassword", revokeTokens } as const;
      const revoked = await this.#parts.store.changePassword(user.id, { verified, next }, stored, record);
      if (revoked === null) throw wrongCurrent();
      return session;
    });
  }

  /**
   * Sets a new random password and ends all sessions of the user. `revokeTokens` also revokes their management tokens, of which
   * a person who knew the old password may have created some.
   *
   * @returns the password, shown once. @throws {Failure} `not_found`
   */
  async resetPassword(
    by: Actor,
    { email, revokeTokens }: { readonly email: string; readonly revokeTokens: boolean },
  ): Promise<{
    /** The new password, which cannot be read again. */
    readonly password: string;
    /** The number of management tokens that were revoked. */
    readonly revokedTokens: number;
  }> {
    const found = await this.#parts.store.findUser(normaliseEmail(email));
    if (found === null) {
      throw new Failure("not_found", "No user has this e-mail address. Search for the account to find it.", {
        param: "email",
      });
    }
    if (found.signedIn.role === "operator") {
      // Otherwise a leaked management token of one operator could take over every operator.
      throw new Failure(
        "permission_denied",
        "An operator's password cannot be reset. Operators change their own; if one is lost, create another operator with a different address.",
        { param: "email" },
      );
    }
    const password = randomBase62(20);
    const next = await this.#parts.passwords.hash(password);
    const record = { by, at: this.#parts.now(), action: "user.resetPassword", revokeTokens } as const;
    const { id } = found.signedIn.user;
    for (let verified = found.passwordHash; ; ) {
      const revokedTokens = await this.#parts.store.changePassword(id, { verified, next }, null, record);
      if (revokedTokens !== null) return { password, revokedTokens };
      // The user has changed the password meanwhile. The reset replaces the new one, too.
      verified = (await this.#parts.store.findPasswordHash(id)) ?? verified;
    }
  }

  /** Runs an attempt with a password within the limits. A failure is recorded as a security event; a success resets the counts. */
  async #attempt<Outcome>(
    email: string,
    { sourceIp }: ClientInfo,
    attempt: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const { attempts } = this.#parts;
    try {
      await attempts.countSignIn(email, sourceIp);
      const outcome = await attempt();
      await attempts.resetAttempts(email, sourceIp);
      return outcome;
    } catch (thrown) {
      const kind = kindOfFailure(thrown);
      // Users who try again while the database does not answer must not be locked out when it answers again.
      if (kind === null) await attempts.uncountSignIn(email, sourceIp);
      else this.#parts.security.note({ kind, email, sourceIp });
      throw thrown;
    }
  }

  async #beginSession(signedIn: SignedIn, verifiedHash: string, clientInfo: ClientInfo): Promise<Session> {
    const { session, stored } = this.#newSession(signedIn, clientInfo);
    // The password may have been changed while it was verified.
    if (!(await this.#parts.store.createSession(stored, verifiedHash))) throw wrongCredentials();
    return session;
  }

  #newSession(
    signedIn: SignedIn,
    clientInfo: ClientInfo,
  ): { readonly session: Session; readonly stored: NewSession } {
    const id = uuidv7() as SessionId;
    const token = randomBase62(43);
    const digest = digestOf(token);
    this.#parts.lookups.issued(digest);
    const createdAt = this.#parts.now();
    const length = signedIn.role === "operator" ? OPERATOR_SESSION_LENGTH : SESSION_LENGTH;
    const expiresAt = new Date(createdAt.getTime() + length.milliseconds());
    const userId = signedIn.user.id;
    return {
      session: { id, token, signedIn },
      stored: { id, digest, userId, createdAt, expiresAt, ...clientInfo },
    };
  }

  async #newUser(email: string, password: string): Promise<NewUser> {
    return {
      userId: uuidv7() as UserId,
      email: normaliseEmail(email),
      passwordHash: await this.#parts.passwords.hash(password),
      createdAt: this.#parts.now(),
    };
  }
}

/** The refusal of a new user whose address another one has. `advice` tells the caller what to do. */
export function addressTaken(advice: string): Failure {
  return new Failure("conflict", `A user with this e-mail address exists. ${advice}`, { param: "email" });
}

/** The security event of a failed attempt; `null` for other failures. */
function kindOfFailure(thrown: unknown): "sign_in_failed" | "sign_in_limited" | null {
  if (!(thrown instanceof Failure)) return null;
  if (thrown.code === "wrong_credentials") return "sign_in_failed";
  return thrown.code === "rate_limit_exceeded" ? "sign_in_limited" : null;
}

function wrongCredentials(): Failure {
  return new Failure(
    "wrong_credentials",
    "The e-mail address or password is wrong. Check both and try again.",
  );
}

function wrongCurrent(): Failure {
  return new Failure("wrong_credentials", "The current password is wrong. Check it and try again.", {
    param: "current",
  });
}
