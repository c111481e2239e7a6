import { v7 as uuidv7 } from "uuid";
import { Failure } from "../errors/failure.ts";
import { digestOf } from "../secrets/digest.ts";
import { hashPassword, randomBase62, TimeSpan, verifyPassword } from "../secrets/oslo.ts";
import type { AccountId, SignedIn, UserId } from "./account.ts";

/** How long a session lasts. */
export const SESSION_LENGTH = new TimeSpan(30, "d");

/** What signing up and in needs of the store. */
export interface SignInStore {
  /** @returns `null` when the e-mail address is taken. */
  createAccountWithUser(account: NewAccount): Promise<SignedIn | null>;
  findUser(email: string): Promise<{ readonly signedIn: SignedIn; readonly passwordHash: string } | null>;
  createSession(session: NewSession): Promise<void>;
  findSession(digest: Uint8Array, now: Date): Promise<SignedIn | null>;
  deleteSession(digest: Uint8Array): Promise<void>;
}

export interface NewAccount {
  readonly accountId: AccountId;
  readonly accountName: string;
  readonly userId: UserId;
  readonly email: string;
  readonly passwordHash: string;
  readonly createdAt: Date;
}

export interface NewSession {
  readonly digest: Uint8Array;
  readonly userId: UserId;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface SignUpRequest {
  readonly email: string;
  readonly password: string;
  readonly accountName: string;
}

/** A fresh session: its token goes into the cookie and is kept nowhere else. */
export interface Session {
  readonly token: string;
  readonly signedIn: SignedIn;
}

/** Signing up, in and out. */
export class SignIn {
  readonly #store: SignInStore;
  readonly #now: () => Date;
  /** Verified against when there is no such user, so that the answer takes as long as for a wrong password. */
  readonly #decoyHash: Promise<string>;

  constructor(store: SignInStore, now: () => Date) {
    this.#store = store;
    this.#now = now;
    this.#decoyHash = hashPassword(randomBase62(24));
  }

  /** Makes an account with its first user. @throws {Failure} `conflict` when the e-mail address is taken. */
  async signUp(request: SignUpRequest): Promise<SignedIn> {
    const signedIn = await this.#store.createAccountWithUser({
      accountId: uuidv7() as AccountId,
      accountName: request.accountName,
      userId: uuidv7() as UserId,
      email: normaliseEmail(request.email),
      passwordHash: await hashPassword(request.password),
      createdAt: this.#now(),
    });
    if (signedIn === null) {
      throw new Failure("conflict", "There is a user with this e-mail address. Sign in instead.", {
        param: "email",
      });
    }
    return signedIn;
  }

  /** @throws {Failure} `not_signed_in`, alike for an unknown user and a wrong password. */
  async signIn(email: string, password: string): Promise<SignedIn> {
    const found = await this.#store.findUser(normaliseEmail(email));
    const matches = await verifyPassword(found?.passwordHash ?? (await this.#decoyHash), password);
    if (found === null || !matches) {
      throw new Failure("not_signed_in", "E-mail address or password is wrong. Check both and try again.");
    }
    return found.signedIn;
  }

  /** Begins a session, always with a new token: one that was planted before the sign-in opens nothing. */
  async beginSession(signedIn: SignedIn): Promise<Session> {
    const token = randomBase62(43);
    const createdAt = this.#now();
    const expiresAt = new Date(createdAt.getTime() + SESSION_LENGTH.milliseconds());
    await this.#store.createSession({
      digest: digestOf(token),
      userId: signedIn.user.id,
      createdAt,
      expiresAt,
    });
    return { token, signedIn };
  }

  findSession(token: string): Promise<SignedIn | null> {
    return this.#store.findSession(digestOf(token), this.#now());
  }

  endSession(token: string): Promise<void> {
    return this.#store.deleteSession(digestOf(token));
  }
}

function normaliseEmail(email: string): string {
  return email.trim().toLowerCase();
}
