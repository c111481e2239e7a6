import { v7 as uuidv7 } from "uuid";
import type { AccountId, Plan, UserId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import type { Plans } from "../contract/plans.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";
import { digestOf } from "../secrets/digest.ts";
import { randomBase62, TimeSpan } from "../secrets/oslo.ts";
import type { AttemptLimits } from "./attempts.ts";
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

/** How long a session of an account's user lasts. An operator's ends after a day's work. */
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

export interface SignUpRequest {
  readonly email: string;
  readonly password: string;
  readonly accountName: string;
}

/** A fresh session: its token goes into the cookie and is kept nowhere else. */
export interface Session {
  readonly id: SessionId;
  readonly token: string;
  readonly signedIn: SignedIn;
}

export interface SignInParts {
  readonly store: PostgresUsers;
  readonly passwords: Passwords;
  readonly attempts: AttemptLimits;
  readonly plans: Plans;
  readonly security: SecurityEvents;
  readonly now: () => Date;
}

/** Signing up, in and out. */
export class SignIn {
  readonly #parts: SignInParts;

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  /**
   * Makes an account with its first user, and signs them in.
   *
   * @throws {Failure} `conflict` when the e-mail address is taken; `rate_limit_exceeded` when an address makes too many.
   */
  async signUp(request: SignUpRequest, clientInfo: ClientInfo): Promise<Session> {
    await this.#parts.attempts.countSignUp(clientInfo.sourceIp);
    const account = await this.newAccount(request, "free");
    const signedIn = await this.#parts.store.createAccountWithUser(account, clientInfo);
    if (signedIn === null) throw addressTaken();
    return this.#beginSession(signedIn, account.passwordHash, clientInfo);
  }

  /** What there is to store of an account's beginning. */
  async newAccount(request: SignUpRequest, plan: Plan): Promise<NewAccount> {
    return {
      accountId: uuidv7() as AccountId,
      accountName: request.accountName,
      plan,
      startingCreditsNanoUsd: this.#parts.plans[plan].startingCreditsNanoUsd,
      ...(await this.#newUser(request.email, request.password)),
    };
  }

  /** Makes an operator unless there is a user with this address. @returns `false` when there was one. */
  async ensureOperator(email: string, password: string): Promise<boolean> {
    if ((await this.#parts.store.findUser(normaliseEmail(email))) !== null) return false;
    // Nodes that start together race for it; one of them wins.
    return (await this.#parts.store.createOperator(await this.#newUser(email, password))) !== null;
  }

  /**
   * Begins a session, always with a new token: one that was planted before the sign-in opens nothing.
   *
   * @throws {Failure} `wrong_credentials`, alike for an unknown user and a wrong password, in words and in time;
   *   `rate_limit_exceeded` after too many attempts, whether right or wrong.
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

  findSession(token: string): Promise<FoundSession | null> {
    return this.#parts.store.findSession(digestOf(token), this.#parts.now());
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

  /** Signs the user out everywhere, here too. */
  endAllSessions(by: Actor): Promise<void> {
    return this.#parts.store.deleteSessions(by.userId, {
      by,
      at: this.#parts.now(),
      action: "user.signOutAll",
    });
  }

  /**
   * Ends every session of the user: who had the old password is out. With `revokeTokens` their management tokens end too.
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
    // Whoever finds a browser unlocked must not be able to try passwords without end.
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
   * Gives a user who lost theirs a new password, and ends all their sessions. Their management tokens end too, unless they
   * are to be kept: whoever had the old password may have made some.
   *
   * @returns the password, shown once. @throws {Failure} `not_found`
   */
  async resetPassword(
    by: Actor,
    email: string,
    keepTokens: boolean,
  ): Promise<{ readonly password: string; readonly revokedTokens: number }> {
    const found = await this.#parts.store.findUser(normaliseEmail(email));
    if (found === null) {
      throw new Failure("not_found", "No user has this e-mail address.", { param: "email" });
    }
    if (found.signedIn.role === "operator") {
      // Otherwise one operator's management token, once leaked, would become every operator.
      throw new Failure(
        "permission_denied",
        "An operator's password cannot be reset. Operators change their own; if one is lost, create another operator with a different address.",
        { param: "email" },
      );
    }
    const password = randomBase62(20);
    const next = await this.#parts.passwords.hash(password);
    const record = {
      by,
      at: this.#parts.now(),
      action: "user.resetPassword",
      revokeTokens: !keepTokens,
    } as const;
    const { id } = found.signedIn.user;
    for (let verified = found.passwordHash; ; ) {
      const revokedTokens = await this.#parts.store.changePassword(id, { verified, next }, null, record);
      if (revokedTokens !== null) return { password, revokedTokens };
      // The user was quicker: what they have just chosen goes too.
      verified = (await this.#parts.store.findPasswordHash(id)) ?? verified;
    }
  }

  /** Makes an attempt at a password, unless there were too many; one that fails is noted, one that succeeds not counted. */
  async #attempt<Outcome>(
    email: string,
    { sourceIp }: ClientInfo,
    attempt: () => Promise<Outcome>,
  ): Promise<Outcome> {
    try {
      await this.#parts.attempts.countSignIn(email, sourceIp);
      const outcome = await attempt();
      await this.#parts.attempts.resetAttempts(email, sourceIp);
      return outcome;
    } catch (thrown) {
      const kind = kindOfFailure(thrown);
      if (kind !== null) this.#parts.security.note({ kind, email, sourceIp });
      throw thrown;
    }
  }

  async #beginSession(signedIn: SignedIn, verifiedHash: string, clientInfo: ClientInfo): Promise<Session> {
    const { session, stored } = this.#newSession(signedIn, clientInfo);
    // Checking a password takes its time, and it may have been changed meanwhile.
    if (!(await this.#parts.store.createSession(stored, verifiedHash))) throw wrongCredentials();
    return session;
  }

  #newSession(
    signedIn: SignedIn,
    clientInfo: ClientInfo,
  ): { readonly session: Session; readonly stored: NewSession } {
    const id = uuidv7() as SessionId;
    const token = randomBase62(43);
    const createdAt = this.#parts.now();
    const length = signedIn.role === "operator" ? OPERATOR_SESSION_LENGTH : SESSION_LENGTH;
    const expiresAt = new Date(createdAt.getTime() + length.milliseconds());
    const userId = signedIn.user.id;
    return {
      session: { id, token, signedIn },
      stored: { id, digest: digestOf(token), userId, createdAt, expiresAt, ...clientInfo },
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

/** An e-mail address names one user. */
export function addressTaken(): Failure {
  return new Failure("conflict", "A user with this e-mail address exists. Sign in instead.", {
    param: "email",
  });
}

/** `null`: it says nothing about the password. */
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
