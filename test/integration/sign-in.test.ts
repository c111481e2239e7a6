import { describe, expect, it } from "vitest";
import type { Transaction } from "../../server/src/database/database.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { refusalOf } from "../fixtures/operator.ts";
import { RUNTIME, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { PASSWORD, signUp, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";

/** Behind a proxy that is trusted, so that attempts can come from anywhere. */
const service = sharedByFile(() => startService({ env: { TRUSTED_PROXIES: "127.0.0.1" } }));

let lastAddress = 0;
/** An address without sign-in attempts. */
function freshAddress(): string {
  lastAddress++;
  return `10.${(lastAddress >> 16) & 255}.${(lastAddress >> 8) & 255}.${lastAddress & 255}`;
}

function visitFrom(address: string): Visitor {
  return visit(service.baseUrl, { "x-forwarded-for": address });
}

/** What an attempt is answered with. */
async function attempt(email: string, password: string, address: string): Promise<string> {
  const { trpc } = visitFrom(address);
  return trpc.auth.signIn.mutate({ email, password }).then(
    () => "signed in",
    (error) => error.data.ostiary.code,
  );
}

const WRONG = "a wrong password";

/** How many statements wait for what a transaction has locked. */
async function blockedBy(held: Transaction): Promise<number> {
  const waiting = await held`
    select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`;
  return waiting.length;
}

/**
 * Counting up to a hundred takes a hundred hashes. Who counts is a store in memory or Redis, with the same code on every runtime; that attempts are
 * counted at all is tested on all of them.
 */
const countsToHundred = it.runIf(RUNTIME === "node" && process.env.OSTIARY_TEST_NODE === undefined);

describe("guessing a password", () => {
  it("is refused after ten wrong attempts from an address, even when the eleventh is right", async () => {
    const { email } = await signUp(service.baseUrl);
    const address = freshAddress();
    for (let number = 0; number < 10; number++) {
      expect(await attempt(email, WRONG, address)).toBe("wrong_credentials");
    }
    expect(await attempt(email, PASSWORD, address)).toBe("rate_limit_exceeded");
    // Its owner, elsewhere, is not locked out by it.
    expect(await attempt(email, PASSWORD, freshAddress())).toBe("signed in");
  });

  it("is refused alike for a user that does not exist, with the time to wait", async () => {
    const email = `${crypto.randomUUID()}@example.com`;
    const address = freshAddress();
    for (let number = 0; number < 10; number++) {
      expect(await attempt(email, WRONG, address)).toBe("wrong_credentials");
    }
    const response = await fetch(`${service.baseUrl}/trpc/auth.signIn`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address },
      body: JSON.stringify({ json: { email, password: WRONG } }),
    });
    expect(response.status).toBe(429);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("is counted before it is answered, so that concurrent attempts count too", async () => {
    const { email } = await signUp(service.baseUrl);
    const address = freshAddress();
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => attempt(email, WRONG, address)));
    expect(outcomes.filter((code) => code === "wrong_credentials")).toHaveLength(10);
    expect(outcomes.filter((code) => code === "rate_limit_exceeded")).toHaveLength(20);
  });

  it("is counted for each call of a batch", async () => {
    const { email } = await signUp(service.baseUrl);
    const address = freshAddress();
    const names = Array.from({ length: 20 }, () => "auth.signIn").join(",");
    const inputs = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [index, { json: { email, password: WRONG } }]),
    );
    const response = await fetch(`${service.baseUrl}/trpc/${names}?batch=1`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address },
      body: JSON.stringify(inputs),
    });
    const answers: { error: { json: { data: { httpStatus: number } } } }[] = await response.json();
    const statuses = answers.map(({ error }) => error.json.data.httpStatus);
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  });

  it("is counted together for all spellings of an e-mail address", async () => {
    const { email } = await signUp(service.baseUrl);
    const address = freshAddress();
    const spellings = [email, email.toUpperCase(), email.replace("example", "Example")];
    const outcomes: string[] = [];
    for (let number = 0; number < 12; number++) {
      outcomes.push(await attempt(spellings[number % 3] ?? email, WRONG, address));
    }
    expect(outcomes.slice(10)).toEqual(["rate_limit_exceeded", "rate_limit_exceeded"]);
  });

  it("is counted together for all addresses of one subscriber with IPv6", async () => {
    const { email } = await signUp(service.baseUrl);
    const outcomes: string[] = [];
    for (let number = 0; number < 11; number++) {
      outcomes.push(await attempt(email, WRONG, `2001:db8:1:2${number.toString(16).padStart(2, "0")}::1`));
    }
    expect(outcomes.at(-1)).toBe("rate_limit_exceeded");
  });

  countsToHundred("is limited for one address over many users", async () => {
    const address = freshAddress();
    const outcomes: string[] = [];
    // A busy machine refuses some of so many at once. These are tried again.
    while (outcomes.length < 120) {
      const trying = Array.from({ length: 120 - outcomes.length }, () =>
        attempt(`${crypto.randomUUID()}@example.com`, WRONG, address),
      );
      outcomes.push(...(await Promise.all(trying)).filter((code) => code !== "server_is_overloaded"));
    }
    expect(new Set(outcomes)).toEqual(new Set(["wrong_credentials", "rate_limit_exceeded"]));
    expect(outcomes.filter((code) => code === "wrong_credentials").length).toBeLessThanOrEqual(100);
  });

  countsToHundred("is limited for one user over many addresses", async () => {
    const { email } = await signUp(service.baseUrl);
    const outcomes: string[] = [];
    for (let round = 0; round < 6; round++) {
      outcomes.push(
        ...(await Promise.all(Array.from({ length: 20 }, () => attempt(email, WRONG, freshAddress())))),
      );
    }
    expect(outcomes.filter((code) => code === "wrong_credentials")).toHaveLength(100);
  });

  it("is no longer counted after the right password came within the limit", async () => {
    const { email } = await signUp(service.baseUrl);
    const address = freshAddress();
    for (let round = 0; round < 3; round++) {
      for (let number = 0; number < 9; number++) await attempt(email, WRONG, address);
      expect(await attempt(email, PASSWORD, address)).toBe("signed in");
    }
  });

  it("is limited in the form that changes the password as well", async () => {
    const owner = await signUp(service.baseUrl);
    const change = () =>
      owner.trpc.auth.changePassword.mutate({ current: WRONG, next: "another long password" });
    for (let number = 0; number < 10; number++) {
      expect((await refusalOf(change())).code).toBe("wrong_credentials");
    }
    expect((await refusalOf(change())).code).toBe("rate_limit_exceeded");
  });
});

describe("sign-up", () => {
  countsToHundred("is refused after a hundred accounts from one address", async () => {
    const address = freshAddress();
    const sign = () =>
      visitFrom(address)
        .trpc.auth.signUp.mutate({
          email: `${crypto.randomUUID()}@example.com`,
          password: PASSWORD,
          accountName: "Many",
        })
        .then(
          () => "made",
          (error) => error.data.ostiary.code,
        );
    const outcomes: string[] = [];
    for (let round = 0; round < 4; round++) {
      outcomes.push(...(await Promise.all(Array.from({ length: 26 }, sign))));
    }
    expect(outcomes.filter((outcome) => outcome === "made")).toHaveLength(100);
    expect(outcomes.filter((outcome) => outcome === "rate_limit_exceeded")).toHaveLength(4);
  });
});

describe("a session", () => {
  it("is new at every sign-in, and the former cookie is no longer valid", async () => {
    const { email } = await signUp(service.baseUrl);
    const visitor = visitFrom(freshAddress());
    await visitor.trpc.auth.signIn.mutate({ email, password: PASSWORD });
    const planted = visitor.cookie();
    await visitor.trpc.auth.signIn.mutate({ email, password: PASSWORD });
    expect(visitor.cookie()).not.toBe(planted);
    const thief = visit(service.baseUrl, { cookie: planted });
    expect(await thief.trpc.auth.me.query()).toBeNull();
    expect((await refusalOf(thief.trpc.keys.list.query())).code).toBe("not_signed_in");
  });

  it("ends when another account is created in its browser, like the former one at a sign-in", async () => {
    const owner = await signUp(service.baseUrl);
    const former = owner.cookie();
    const email = `${crypto.randomUUID()}@example.com`;
    await owner.trpc.auth.signUp.mutate({ email, password: PASSWORD, accountName: "Another" });
    expect((await owner.trpc.auth.me.query())?.user.email).toBe(email);
    expect(await visit(service.baseUrl, { cookie: former }).trpc.auth.me.query()).toBeNull();
  });

  it("is listed with its source, and can be ended alone or with all others", async () => {
    const { email, ...laptop } = await signUp(service.baseUrl);
    const { key } = await laptop.trpc.keys.create.mutate({ name: "pasted" });
    const phone = visit(service.baseUrl, {
      "user-agent": `Phone/1 ${key}`,
      "x-forwarded-for": "192.0.2.50",
    });
    const tablet = visit(service.baseUrl, { "user-agent": "Tablet/1" });
    await phone.trpc.auth.signIn.mutate({ email, password: PASSWORD });
    await tablet.trpc.auth.signIn.mutate({ email, password: PASSWORD });
    const { sessions } = await laptop.trpc.auth.sessions.query();
    expect(sessions).toHaveLength(3);
    expect(sessions.filter(({ isCurrent }) => isCurrent)).toHaveLength(1);
    const ofPhone = sessions.find(({ userAgent }) => userAgent?.startsWith("Phone/1"));
    expect(ofPhone).toMatchObject({ sourceIp: "192.0.2.50", userAgent: "Phone/1 sk-[redacted]" });
    expect(JSON.stringify(sessions)).not.toContain(phone.cookie().split("=")[1]);

    await laptop.trpc.auth.endSession.mutate({ id: ofPhone?.id ?? "" });
    expect(await phone.trpc.auth.me.query()).toBeNull();
    expect((await tablet.trpc.auth.me.query())?.user.email).toBe(email);

    await laptop.trpc.auth.signOutAll.mutate();
    expect(await tablet.trpc.auth.me.query()).toBeNull();
    expect(await laptop.trpc.auth.me.query()).toBeNull();
  });

  it("of another user can't be ended", async () => {
    const owner = await signUp(service.baseUrl);
    const [session] = (await owner.trpc.auth.sessions.query()).sessions;
    const stranger = await signUp(service.baseUrl);
    const id = session?.id ?? "";
    expect((await refusalOf(stranger.trpc.auth.endSession.mutate({ id }))).code).toBe("not_found");
    expect(await owner.trpc.auth.me.query()).not.toBeNull();
  });

  it("ends with a change of the password, except for the one that made it", async () => {
    const { email, ...here } = await signUp(service.baseUrl);
    const there = visitFrom(freshAddress());
    await there.trpc.auth.signIn.mutate({ email, password: PASSWORD });
    const before = here.cookie();
    await here.trpc.auth.changePassword.mutate({ current: PASSWORD, next: "a new password of mine" });
    expect(await there.trpc.auth.me.query()).toBeNull();
    expect((await here.trpc.auth.me.query())?.user.email).toBe(email);
    expect(await visit(service.baseUrl, { cookie: before }).trpc.auth.me.query()).toBeNull();
    expect(await attempt(email, PASSWORD, freshAddress())).toBe("wrong_credentials");
    expect(await attempt(email, "a new password of mine", freshAddress())).toBe("signed in");
  });

  it("does not begin with a password that was changed while it was verified", async () => {
    const { email } = await signUp(service.baseUrl);
    const other = await signUp(service.baseUrl);
    await using sql = await openDatabaseOf(service);
    let signingIn: Promise<string> | null = null;
    await sql.transaction("", async (held) => {
      await held`lock table sessions in exclusive mode`;
      signingIn = attempt(email, PASSWORD, freshAddress());
      await expect.poll(() => blockedBy(held)).toBe(1);
      await held`
        update users set password_hash = (select password_hash from users where email = ${other.email})
        where email = ${email}`;
    });
    expect(await signingIn).toBe("wrong_credentials");
  });

  it("makes no management token if it ends meanwhile", async () => {
    const owner = await signUp(service.baseUrl);
    await using sql = await openDatabaseOf(service);
    let creating: ReturnType<typeof refusalOf> | null = null;
    await sql.transaction("", async (held) => {
      await held`select from users where email = ${owner.email} for no key update`;
      creating = refusalOf(owner.trpc.tokens.create.mutate({ name: "late" }));
      await expect.poll(() => blockedBy(held)).toBe(1);
      await held`delete from sessions where user_id = (select id from users where email = ${owner.email})`;
    });
    expect(await creating).toEqual({ status: 401, code: "not_signed_in" });
  });

  it("stays signed out when signed out twice", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const twin = visit(service.baseUrl, { cookie: owner.cookie() });
    await Promise.all([owner.trpc.auth.signOut.mutate(), twin.trpc.auth.signOut.mutate()]);
    expect(await owner.trpc.auth.me.query()).toBeNull();
  });
});
