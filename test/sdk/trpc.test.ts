import { inspect } from "node:util";
import { QueryClient } from "@tanstack/react-query";
import { createTRPCClient, type TRPCClient, TRPCClientError } from "@trpc/client";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Ostiary } from "../../sdk/src/client.ts";
import type { LiveAuditEntries } from "../../sdk/src/contract/management.ts";
import { OstiaryError, PermissionDeniedError } from "../../sdk/src/core/errors.ts";
import { type AppRouter, type OstiaryLinkOptions, ostiaryLink } from "../../sdk/src/trpc.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

let service: Service;
let owner: Owner;
let key: string;
let token: string;

beforeAll(async () => {
  service = await startService();
  owner = await signUp(service.baseUrl);
  key = (await owner.trpc.keys.create.mutate({ name: "first" })).key;
  token = (await owner.trpc.tokens.create.mutate({ name: "scripts" })).token;
});

afterAll(() => service?.[Symbol.asyncDispose]());

/** tRPC's own client with the link, and the requests that it has sent. */
function connect(options: OstiaryLinkOptions = {}): {
  readonly trpc: TRPCClient<AppRouter>;
  readonly requests: string[];
} {
  const requests: string[] = [];
  const counted: typeof fetch = (input, init) => {
    requests.push(`${init?.method} ${new URL(String(input)).pathname}`);
    return fetch(input, init);
  };
  const link = ostiaryLink({ managementToken: token, baseURL: service.baseUrl, fetch: counted, ...options });
  return { trpc: createTRPCClient<AppRouter>({ links: [link] }), requests };
}

/** Makes a request that is recorded. */
async function requestIdOfChat(): Promise<string> {
  const { requestId } = await new Ostiary({ apiKey: key, baseURL: service.baseUrl }).chat.completions
    .create({ model: "sandbox/echo", messages: [{ role: "user", content: "one" }] })
    .withResponse();
  return requestId ?? "";
}

describe("tRPC's own client with ostiaryLink", () => {
  it("calls queries and mutations, with dates and bigints", async () => {
    const { trpc } = connect();
    const created = await trpc.keys.create.mutate({ name: "by trpc" });
    expect(created.createdAt).toBeInstanceOf(Date);
    expect((await trpc.keys.list.query()).keys.map(({ id }) => id)).toContain(created.id);
    expect((await trpc.keys.revoke.mutate({ id: created.id })).state).toBe("revoked");
    expect((await trpc.credits.balance.query()).balanceNanoUsd).toBeTypeOf("bigint");
  });

  it("sends the calls of one tick as one request, and answers each", async () => {
    const { trpc, requests } = connect();
    const answers = await Promise.allSettled([
      trpc.account.get.query(),
      trpc.account.limits.query(),
      trpc.keys.usage.query({ id: crypto.randomUUID() }),
    ]);
    expect(requests).toEqual(["POST /trpc/account.get,account.limits,keys.usage"]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
  });

  it("sends no batch that the service would refuse", async () => {
    const { trpc, requests } = connect();
    const answers = await Promise.all(Array.from({ length: 45 }, () => trpc.account.limits.query()));
    expect(answers).toHaveLength(45);
    expect(requests).toHaveLength(3);
    expect(() => ostiaryLink({ managementToken: token, maxBatchSize: 21 })).toThrow(OstiaryError);
  });

  it("throws tRPC's error, caused by the client's own", async () => {
    const { trpc } = connect({ managementToken: key });
    const refused = await trpc.keys.create.mutate({ name: "by key" }).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(TRPCClientError);
    expect(refused).toMatchObject({
      data: {
        httpStatus: 403,
        ostiary: { code: "permission_denied", requestId: expect.stringMatching(/^req_/) },
      },
    });
    expect((refused as Error).cause).toBeInstanceOf(PermissionDeniedError);
  });

  it.each([
    ["an unknown token", { managementToken: "mt-unknown" }, 401, "AuthenticationError"],
    ["a service that is not there", { baseURL: "http://127.0.0.1:1" }, undefined, "APIConnectionError"],
  ])("tells of %s by the client's own error", async (_, options, status, name) => {
    const { trpc } = connect({ maxRetries: 0, ...options });
    const refused = await trpc.account.get.query().catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(TRPCClientError);
    expect((refused as Error).cause).toMatchObject({ name, ...(status === undefined ? {} : { status }) });
  });

  it("retries as the client does, and repeats no change after a lost connection", async () => {
    let refusals = 2;
    let changes = 0;
    const flaky: typeof fetch = async (input, init) => {
      if (String(input).includes("keys.revoke")) {
        changes++;
        throw new TypeError("the connection broke");
      }
      if (refusals-- > 0) {
        return Response.json({}, { status: 503, headers: { "retry-after-ms": "1" } });
      }
      return fetch(input, init);
    };
    const { trpc } = connect({ fetch: flaky });
    expect((await trpc.account.get.query()).plan).toBe("free");
    expect(refusals).toBe(-1);
    await expect(trpc.keys.revoke.mutate({ id: crypto.randomUUID() })).rejects.toThrow(TRPCClientError);
    expect(changes).toBe(1);
  });

  it("ends a call whose signal is aborted", async () => {
    const { trpc } = connect({
      fetch: (_, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
        }),
    });
    const controller = new AbortController();
    const call = trpc.account.get.query(undefined, { signal: controller.signal });
    controller.abort();
    await expect(call).rejects.toThrow(TRPCClientError);
  });

  it("works with TanStack Query", async () => {
    const { trpc } = connect();
    const queryClient = new QueryClient();
    const proxy = createTRPCOptionsProxy<AppRouter>({ client: trpc, queryClient });
    const account = await queryClient.fetchQuery(proxy.account.get.queryOptions());
    expect(account.plan).toBe("free");
    const pages = await queryClient.fetchInfiniteQuery(
      proxy.credits.ledger.infiniteQueryOptions(
        { limit: 1 },
        { getNextPageParam: ({ nextCursor }) => nextCursor },
      ),
    );
    expect(pages.pages[0]?.entries).toHaveLength(1);
  });
});

describe("a subscription", () => {
  it("of tRPC's client continues after a lost connection, without a gap", async () => {
    await using proxy = await openTcpProxy(Number(new URL(service.baseUrl).port));
    const { trpc } = connect({ baseURL: `http://127.0.0.1:${proxy.port}` });
    const told: string[] = [];
    const states: string[] = [];
    const news = new EventTarget();
    const until = async (isSo: () => boolean) => {
      while (!isSo()) await new Promise((resolve) => news.addEventListener("news", resolve, { once: true }));
    };
    const subscription = trpc.audit.tail.subscribe(
      {},
      {
        onConnectionStateChange: ({ state }) => {
          states.push(state);
          news.dispatchEvent(new Event("news"));
        },
        onData: ({ data }) => {
          told.push(...data.entries.map(({ requestId }) => requestId));
          news.dispatchEvent(new Event("news"));
        },
      },
    );
    await until(() => states.includes("pending"));
    const first = await requestIdOfChat();
    await until(() => told.includes(first));
    proxy.cut();
    const second = await requestIdOfChat();
    proxy.heal();
    await until(() => told.includes(second));
    subscription.unsubscribe();
    expect(told).toEqual([first, second]);
    expect(states.slice(0, 3)).toEqual(["connecting", "pending", "connecting"]);
  });

  it("of the client tells entries as they are recorded", async () => {
    const client = new Ostiary({ managementToken: token, baseURL: service.baseUrl });
    const controller = new AbortController();
    const tail = client.audit.tail({}, { signal: controller.signal });
    let first: IteratorResult<LiveAuditEntries, void> | undefined;
    const reading = tail.next().then((result) => {
      first = result;
    });
    // Entries from before the subscription are not told, so requests are made until one is.
    while (first === undefined) await Promise.race([requestIdOfChat(), reading]);
    const { value } = first as IteratorYieldResult<LiveAuditEntries>;
    expect(value.entries[0]).toMatchObject({
      model: "sandbox/echo",
      timestamp: expect.any(Date),
      costNanoUsd: expect.stringMatching(/^\d+$/),
    });
    controller.abort();
    await expect(tail.next()).rejects.toMatchObject({ name: "APIUserAbortError" });
  });

  it("of a revoked token ends with the error", async () => {
    const { id, token: short } = await owner.trpc.tokens.create.mutate({ name: "short" });
    const client = new Ostiary({ managementToken: short, baseURL: service.baseUrl });
    const tail = client.audit.tail()[Symbol.asyncIterator]();
    const next = tail.next();
    await owner.trpc.tokens.revoke.mutate({ id });
    await expect(next).rejects.toMatchObject({ status: 401 });
  });
});

describe("client.trpc", () => {
  it("calls every procedure that a token may call, and throws the client's errors", async () => {
    const client = new Ostiary({ managementToken: token, baseURL: service.baseUrl });
    expect((await client.trpc.account.limits.query()).used.requests).toBeTypeOf("number");
    expect((await client.trpc.account.tryAddress.query({ address: "192.0.2.1" })).verdict).toBe("passes");
    const { balanceNanoUsd } = await client.trpc.credits.balance.query();
    expect(JSON.stringify({ balanceNanoUsd })).toBe(`{"balanceNanoUsd":"${BigInt(balanceNanoUsd)}"}`);
    await expect(client.trpc.tokens.list.query()).rejects.toBeInstanceOf(PermissionDeniedError);
    await expect(client.trpc.keys.usage.query({ id: crypto.randomUUID() })).rejects.toMatchObject({
      status: 404,
    });
  });

  it("does not act when it is awaited or printed", async () => {
    const client = new Ostiary({ managementToken: token, baseURL: "http://127.0.0.1:1" });
    expect(await client.trpc).toBeTypeOf("object");
    expect(await client.trpc.account.get).toBeTypeOf("object");
    expect(JSON.stringify(client.trpc)).toBe("{}");
    expect(`${client.trpc} ${client.trpc.keys.list}`).toBe("trpc trpc.keys.list");
    expect(inspect(client.trpc.keys)).toBe("Object [trpc.keys] {}");
    // @ts-expect-error: a procedure is called with `query` or `mutate`.
    expect(() => client.trpc.account.get()).toThrow(TypeError);
  });
});
