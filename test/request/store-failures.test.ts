import { type EventEmitter, on } from "node:events";
import { describe, expect, it } from "vitest";
import { BodyBudget, shareOut } from "../../server/src/admission/body-budget.ts";
import { openAnyRedis } from "../../server/src/admission/redis-options.ts";
import { openDatabase } from "../../server/src/database/database.ts";
import { Failure, isUnreachable, toFailure, Unavailable } from "../../server/src/errors/failure.ts";
import { sharedLookup } from "../../server/src/networks/shared-lookup.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import { systemError } from "../fixtures/faulty-disk.ts";
import { exchangeOf, handlerOf } from "./account-handler.ts";

describe("a request that a store fails", () => {
  it.each(["ECONNREFUSED", "ENETUNREACH", "EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN", "EAI_FAIL"])(
    "because it can't be reached (%s) is answered 503, and others do not wait for it",
    (code) => {
      const error = systemError(code, "connect");
      expect(toFailure(error)).toMatchObject({ status: 503, retryAfterMs: 1_000 });
      expect(isUnreachable(error)).toBe(true);
    },
  );

  it.each(["EACCES", "EPERM", "EAFNOSUPPORT"])(
    "because the system does not let it connect (%s) is answered 503",
    (code) => {
      const error = Object.assign(systemError(code, "connect"), { syscall: "connect" });
      expect(toFailure(error).status).toBe(503);
      expect(isUnreachable(error)).toBe(true);
    },
  );

  it.each([
    "CERT_HAS_EXPIRED",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "ERR_SSL_WRONG_VERSION_NUMBER",
  ])("because its connection can't be secured (%s) is answered 503", (code) => {
    const error = systemError(code, "the connection can't be secured");
    expect(toFailure(error)).toMatchObject({ status: 503, retryAfterMs: 1_000 });
    expect(isUnreachable(error)).toBe(true);
  });

  it.each(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAGAIN", "ENOSPC", "EDQUOT", "EIO", "EROFS"])(
    "because the system lacks a resource or its disk fails (%s) is answered 503",
    (code) => {
      expect(toFailure(systemError(code, "open"))).toMatchObject({ status: 503, retryAfterMs: 1_000 });
    },
  );

  it.each(["53100", "58030", "42501", "42P01"])(
    "because the database lacks space, can't read its disk, refuses a permission or shows no table (%s) is answered 503",
    (code) => {
      expect(toFailure(systemError(code, "the database")).status).toBe(503);
    },
  );

  it("for a reason that no later attempt changes is answered 500", () => {
    expect(toFailure(systemError("EISDIR", "read")).status).toBe(500);
    expect(toFailure(systemError("42703", "column does not exist")).status).toBe(500);
  });
});

describe("a request with a key that was refused before", () => {
  it("asks stores that do not answer once, and is answered 503: each time it would wait for the same deadline", async () => {
    let asked = 0;
    const authorize = async () => {
      asked++;
      throw new Failure("server_is_overloaded", "The service cannot check API keys at the moment.");
    };
    const model = { kind: "model", method: "POST", path: "/v1/ask", auth: "key" } as unknown as Operation;
    const snapshot = { account: { id: "018f3a5e-0000-7000-8000-00000000000a" }, key: { state: "revoked" } };
    const requests = handlerOf([model], { record: async () => ({ stored: null }) }, null, {
      access: {
        authenticate: () => ({ digest: "", snapshot, invalidations: 0 }),
        seemsRefused: () => true,
        authorize,
        authorizeAndAdmit: authorize,
      },
    });
    const statuses: number[] = [];
    await requests.handle(
      exchangeOf("POST", "/v1/ask", {
        header: (name) => (name === "content-type" ? ["application/json"] : []),
        letOthersGoFirst: () => null,
        respond: (status) => void statuses.push(status),
      }),
    );
    expect({ statuses, asked }).toEqual({ statuses: [503], asked: 1 });
  });
});

describe("a request that has waited for a silent database", () => {
  const NEVER = new Promise<never>(() => {});

  /** The statuses with which a request with an idempotency key is answered, if the database goes silent at one of its steps. */
  async function statusesIfSilent(at: "claim" | "hold"): Promise<number[]> {
    const silent = async () => {
      throw new Unavailable("PostgreSQL did not answer in time");
    };
    const model = {
      kind: "model",
      method: "POST",
      path: "/v1/ask",
      auth: "key",
      maxBodyBytes: 1_000,
      outputTokenFields: [],
      read: () => ({ model: "acme/chat", maxTokens: 1, choices: 1, prompts: 1, images: 0, files: 0 }),
    };
    const statuses: number[] = [];
    const requests = handlerOf(
      [model as unknown as Operation],
      { record: async () => ({ stored: NEVER }) },
      null,
      {
        bodies: new BodyBudget(shareOut(100_000, 1_000)),
        turnShares: { begin: () => null },
        catalog: { find: () => ({ id: "acme/chat", prices: null, contextTokens: 1, maxOutputTokens: 1 }) },
        idempotency: {
          claim: at === "claim" ? silent : async () => ({ kind: "claimed", claim: { release: () => NEVER } }),
        },
        credits: { holdAtOnce: () => null, hold: silent },
        trace: () => {},
      },
    );
    const headers: Readonly<Record<string, string>> = {
      "content-type": "application/json",
      "idempotency-key": "once",
    };
    await requests.handle(
      exchangeOf("POST", "/v1/ask", {
        header: (name) => (headers[name] === undefined ? [] : [headers[name]]),
        receive: (body) => {
          body.add(new TextEncoder().encode('{"model":"acme/chat"}'));
          body.end();
        },
        letOthersGoFirst: () => null,
        respond: (status) => void statuses.push(status),
      }),
    );
    return statuses;
  }

  it("is answered 503 without waiting until the database has its entry", async () => {
    expect(await statusesIfSilent("claim")).toEqual([503]);
  });

  it("is answered 503 without waiting until the database has released its idempotency key", async () => {
    expect(await statusesIfSilent("hold")).toEqual([503]);
  });
});

describe("a database whose name server does not answer", () => {
  it("takes one look-up for all connections, as the system makes two at once, and upstreams need one", async () => {
    const asked: string[] = [];
    const lookup = sharedLookup((hostname) => void asked.push(hostname));
    const url = "postgres://user:password@slow.example/database";
    const options = { maxConnections: 4, connectTimeoutS: 30, statementTimeoutMs: 100, lookup };
    const pools = [openDatabase({ url }, options), openDatabase({ url }, options)];
    const statements = pools.flatMap((pool) => Array.from({ length: 4 }, () => pool`select 1`));
    for (const { reason } of (await Promise.allSettled(statements)) as PromiseRejectedResult[])
      expect(reason).toBeInstanceOf(Unavailable);
    expect(asked).toEqual(["slow.example"]);
    await Promise.all(pools.map((pool) => pool.end()));
  });
});

describe("a Redis whose name server does not answer", () => {
  it.each([
    ["a server", "redis://slow.example:6379"],
    ["a server with TLS", "rediss://slow.example:6379"],
    ["sentinels", "redis+sentinel://slow.example:26379/main"],
    ["a cluster", "redis+cluster://slow.example:6379"],
  ])("takes one look-up for all connections, however often they try again: %s", async (_, url) => {
    const asked: string[] = [];
    const lookup = sharedLookup((hostname) => void asked.push(hostname));
    const clients = Array.from({ length: 3 }, () => openAnyRedis(url, { commandTimeoutMs: 20, lookup }));
    // A cluster's client waits for the look-up, and the others fail and try again.
    if (url.includes("cluster")) await expect.poll(() => asked).not.toEqual([]);
    else await Promise.all(clients.map(failedThreeTimes));
    expect(asked).toEqual(["slow.example"]);
    for (const client of clients) client.disconnect();
  });

  async function failedThreeTimes(client: EventEmitter) {
    let failures = 0;
    for await (const _ of on(client, "error")) if (++failures === 3) break;
    client.on("error", () => {});
  }
});
