import { v7 as uuidv7 } from "uuid";
import { Failure } from "../errors/failure.ts";
import { digestOf } from "../secrets/digest.ts";
import { randomBase62, TimeSpan } from "../secrets/oslo.ts";
import type { AccountId, UserId } from "./account.ts";
import type { Actor } from "./action.ts";
import type { AttemptLimits } from "./attempts.ts";
import type { Passwords } from "./passwords.ts";
import {
  type ListedSession,
  type NewAccount,
  type NewUser,
  normaliseEmail,
  type SessionId,
  type SignedIn,
  type User,
  type Visit,
} from "./user.ts";

/** How long a session of an account's user lasts. An operator's ends after a day's work. */
export const SESSION_LENGTH = new TimeSpan(30, "d");
const OPERATOR_SESSION_LENGTH = new TimeSpan(12, "h");

/** What signing up and in needs of the store. */
export interface UserStore {
  /** @returns `null` when the e-mail address is taken. */
  createAccountWithUser(account: NewAccount, visit: Visit): Promise<SignedIn | null>;
  /** @returns `null` when the e-mail address is taken. */
  createOperator(user: NewUser): Promise<SignedIn | null>;
  findUser(email: string): Promise<{ readonly signedIn: SignedIn; readonly passwordHash: string } | null>;
  findPasswordHash(userId: UserId): Promise<string | null>;
  /** Ends every session of the user but `keep`. */
  changePassword(
    userId: UserId,
    passwordHash: string,
    keep: SessionId | null,
    change: UserChange,
  ): Promise<void>;
  createSession(session: NewSession): Promise<void>;
  /** Whose session it is; notes, to the minute, that it was used. */
  findSession(digest: Uint8Array, now: Date): Promise<FoundSession | null>;
  listSessions(userId: UserId, now: Date): Promise<readonly ListedSession[]>;
  /** @returns `false` when the user has no such session. */
  deleteSession(userId: UserId, id: SessionId): Promise<boolean>;
  deleteSessions(userId: UserId, change: UserChange): Promise<void>;
}

/** How a change of a user is recorded. */
export interface UserChange {
  readonly by: Actor;
  readonly at: Date;
  readonly action: "user.changePassword" | "user.resetPassword" | "user.signOutAll";
}

export interface NewSession extends Visit {
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
  readonly store: UserStore;
  readonly passwords: Passwords;
  readonly attempts: AttemptLimits;
  readonly now: () => Date;
}

/** Signing up, in and out. */
export class SignIn {
  readonly #store: UserStore;
  readonly #passwords: Passwords;
  readonly #attempts: AttemptLimits;
  readonly #now: () => Date;

  constructor({ store, passwords, attempts, now }: SignInParts) {
    this.#store = store;
    this.#passwords = passwords;
    this.#attempts = attempts;
    this.#now = now;
  }

  /**
   * Makes an account with its first user.
   *
   * @throws {Failure} `conflict` when the e-mail address is taken; `rate_limit_exceeded` when an address makes too many.
   */
  async signUp(request: SignUpRequest, visit: Visit): Promise<SignedIn> {
    await this.#attempts.countSignUp(visit.sourceIp);
    const signedIn = await this.#store.createAccountWithUser(await this.newAccount(request), visit);
    if (signedIn === null) throw addressTaken();
    return signedIn;
  }

  /** What there is to store of an account's beginning. */
  async newAccount(request: SignUpRequest): Promise<NewAccount> {
    return {
      accountId: uuidv7() as AccountId,
      accountName: request.accountName,
      ...(await this.#newUser(request.email, request.password)),
    };
  }

  /** Makes an operator unless there is a user with this address. @returns `false` when there was one. */
  async ensureOperator(email: string, password: string): Promise<boolean> {
    if ((await this.#store.findUser(normaliseEmail(email))) !== null) return false;
    // Nodes that start together race for it; one of them wins.
    return (await this.#store.createOperator(await this.#newUser(email, password))) !== null;
  }

  /**
   * @throws {Failure} `wrong_credentials`, alike for an unknown user and a wrong password, in words and in time;
   *   `rate_limit_exceeded` after too many attempts, whether right or wrong.
   */
  async signIn(email: string, password: string, visit: Visit): Promise<SignedIn> {
    const name = normaliseEmail(email);
    await this.#attempts.countSignIn(name, visit.sourceIp);
    const found = await this.#store.findUser(name);
    const matches = await this.#passwords.verify(found?.passwordHash ?? null, password);
    if (found === null || !matches) {
      throw new Failure(
        "wrong_credentials",
        "E-mail address or password is wrong. Check both and try again.",
      );
    }
    await this.#attempts.forgive(name, visit.sourceIp);
    return found.signedIn;
  }

  /** Begins a session, always with a new token: one that was planted before the sign-in opens nothing. */
  async beginSession(signedIn: SignedIn, visit: Visit): Promise<Session> {
    const id = uuidv7() as SessionId;
    const token = randomBase62(43);
    const createdAt = this.#now();
    const length = signedIn.role === "operator" ? OPERATOR_SESSION_LENGTH : SESSION_LENGTH;
    const expiresAt = new Date(createdAt.getTime() + length.milliseconds());
    const userId = signedIn.user.id;
    await this.#store.createSession({ id, digest: digestOf(token), userId, createdAt, expiresAt, ...visit });
    return { id, token, signedIn };
  }

  findSession(token: string): Promise<FoundSession | null> {
    return this.#store.findSession(digestOf(token), this.#now());
  }

  listSessions(userId: UserId): Promise<readonly ListedSession[]> {
    return this.#store.listSessions(userId, this.#now());
  }

  /** @throws {Failure} `not_found` */
  async endSession(userId: UserId, id: SessionId): Promise<void> {
    if (await this.#store.deleteSession(userId, id)) return;
    throw new Failure("not_found", "There is no such session. It may have ended already.", { param: "id" });
  }

  /** Ends a session that may have ended already. */
  async leaveSession(userId: UserId, id: SessionId): Promise<void> {
    await this.#store.deleteSession(userId, id);
  }

  /** Signs the user out everywhere, here too. */
  endAllSessions(by: Actor): Promise<void> {
    return this.#store.deleteSessions(by.userId, { by, at: this.#now(), action: "user.signOutAll" });
  }

  /**
   * Ends every other session of the user: who had the old password is out.
   *
   * @throws {Failure} `wrong_credentials` when `current` is not their password.
   */
  async changePassword(
    by: Actor,
    user: User,
    session: SessionId,
    change: { readonly current: string; readonly next: string },
  ): Promise<void> {
    // Whoever finds a browser unlocked must not be able to try passwords without end.
    await this.#attempts.countSignIn(user.email, by.sourceIp);
    const hash = await this.#store.findPasswordHash(user.id);
    if (!(await this.#passwords.verify(hash, change.current))) {
      throw new Failure("wrong_credentials", "The current password is wrong. Check it and try again.", {
        param: "current",
      });
    }
    await this.#attempts.forgive(user.email, by.sourceIp);
    const record = { by, at: this.#now(), action: "user.changePassword" } as const;
    await this.#store.changePassword(user.id, await this.#passwords.hash(change.next), session, record);
  }

  /**
   * Gives a user who lost theirs a new password, and ends all their sessions.
   *
   * @returns the password, shown once. @throws {Failure} `not_found`
   */
  async resetPassword(by: Actor, email: string): Promise<{ readonly password: string }> {
    const found = await this.#store.findUser(normaliseEmail(email));
    if (found === null) {
      throw new Failure("not_found", "There is no user with this e-mail address.", { param: "email" });
    }
    const password = randomBase62(20);
    const record = { by, at: this.#now(), action: "user.resetPassword" } as const;
    const hash = await this.#passwords.hash(password);
    await this.#store.changePassword(found.signedIn.user.id, hash, null, record);
    return { password };
  }

  async #newUser(email: string, password: string): Promise<NewUser> {
    return {
      userId: uuidv7() as UserId,
      email: normaliseEmail(email),
      passwordHash: await this.#passwords.hash(password),
      createdAt: this.#now(),
    };
  }
}

/** An e-mail address names one user. */
export function addressTaken(): Failure {
  return new Failure("conflict", "There is a user with this e-mail address. Sign in instead.", {
    param: "email",
  });
}
