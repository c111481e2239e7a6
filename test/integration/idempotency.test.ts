import { rename } from "node:fs/promises";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type CatalogFile, writePricedCatalog } from "../fixtures/catalog.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { metricOf } from "../fixtures/metrics.ts";
import {
  answerWhole,
  chunkOf,
  type ModelServer,
  type ReceivedRequest,
  startModelServer,
} from "../fixtures/model-server.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { signUpWithKey, visit } from "../fixtures/user.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;
/** What the model server's answer costs: 1,000 tokens of prompt, 200 of answer. */
const COST = 1_000n * 1_000n + 200n * 10_000n;
const CREDIT = 5_000_000_000n;
const GONE = "idempotent_answer_gone";

let answer: (request: ReceivedRequest) => void = answerWhole;
let upstream: ModelServer;
let catalog: CatalogFile;
let service: Service;

beforeAll(async () => {
  upstream = await startModelServer((request) => answer(request));
  catalog = await writePricedCatalog(upstream.baseUrl);
  service = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
});

afterEach(() => {
  answer = answerWhole;
  upstream.received.length = 0;
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
});

interface Asked {
  readonly content?: string;
  readonly stream?: boolean;
  readonly at?: string;
  readonly signal?: AbortSignal;
}

function ask(key: string, idempotencyKey: string, asked: Asked = {}): Promise<Response> {
  const { content = "hi", stream = false, at = service.baseUrl, signal } = asked;
  return sendChat(
    at,
    key,
    { model: "acme/chat", messages: [{ role: "user", content }], stream },
    { headers: { "idempotency-key": idempotencyKey }, signal },
  );
}

function answerStream({ response }: ReceivedRequest, text = "from afar"): void {
  response.setHeader("content-type", "text/event-stream");
  response.write(chunkOf({ role: "assistant", content: text }));
  response.write(chunkOf({}, "stop"));
  const usage = { prompt_tokens: 1_000, completion_tokens: 200, total_tokens: 1_200 };
  response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
}

function inheritanceOf({ dataDir, databaseUrl }: Service) {
  const env = { OSTIARY_CATALOG: catalog.file };
  return { dataDir, env, ...(databaseUrl === undefined ? {} : { databaseUrl }) };
}

async function codeOf(response: Response): Promise<string> {
  return (await response.json()).error.code;
}

describe("a request with an idempotency key", () => {
  it("is executed and charged once, and has the same answer whenever it is repeated", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const first = await ask(owner.key, "order-1");
    const body = await first.text();
    expect(first.headers.get("idempotency-replayed")).toBeNull();
    for (let again = 0; again < 3; again++) {
      const repeat = await ask(owner.key, "order-1");
      expect(repeat.status).toBe(200);
      expect(repeat.headers.get("idempotency-replayed")).toBe("true");
      expect(await repeat.text()).toBe(body);
    }
    expect(upstream.received).toHaveLength(1);
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(CREDIT - COST);
    const { entries } = await owner.trpc.audit.list.query();
    expect(entries.map(({ costNanoUsd }) => costNanoUsd)).toEqual([0n, 0n, 0n, COST]);
    expect(entries.every(({ model }) => model === "acme/chat")).toBe(true);
    await (await ask(owner.key, "order-2")).text();
    expect(upstream.received).toHaveLength(2);
  });

  it("is executed and charged once when a real client streams it", async () => {
    answer = answerStream;
    const owner = await signUpWithKey(service.baseUrl);
    const client = new OpenAI({ apiKey: owner.key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
    const read = async () => {
      const stream = await client.chat.completions.create(
        { model: "acme/chat", messages: [{ role: "user", content: "hi" }], stream: true },
        { headers: { "idempotency-key": "stream-1" } },
      );
      const deltas: string[] = [];
      for await (const chunk of stream) deltas.push(JSON.stringify(chunk));
      return deltas;
    };
    const first = await read();
    expect(first.length).toBeGreaterThan(1);
    expect(await read()).toEqual(first);
    expect(upstream.received).toHaveLength(1);
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(CREDIT - COST);
  });

  it("is refused with another body, and belongs to its account alone", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await (await ask(owner.key, "order-1")).text();
    const other = await ask(owner.key, "order-1", { content: "something else" });
    expect(other.status).toBe(422);
    expect(await codeOf(other)).toBe("idempotency_key_reused");
    const stranger = await signUpWithKey(service.baseUrl);
    const theirs = await ask(stranger.key, "order-1", { content: "something else" });
    expect(theirs.status).toBe(200);
    expect(theirs.headers.get("idempotency-replayed")).toBeNull();
  });

  it("is executed once when many arrive concurrently; the others are told to retry", async () => {
    const waiting: ReceivedRequest[] = [];
    answer = (request) => waiting.push(request);
    const owner = await signUpWithKey(service.baseUrl);
    const asked = Array.from({ length: 20 }, () => ask(owner.key, "order-1"));
    const refused: Response[] = [];
    for (const response of asked) void response.then((value) => value.status === 409 && refused.push(value));
    await expect.poll(() => refused.length).toBe(19);
    for (const response of refused) {
      expect(await codeOf(response)).toBe("idempotency_key_in_use");
      expect(response.headers.get("retry-after")).toBe("1");
    }
    // The others may be refused before the one that is executed has reached the model server.
    await expect.poll(() => waiting.length).toBe(1);
    for (const request of waiting) answerWhole(request);
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(waiting).toHaveLength(1);
    expect((await ask(owner.key, "order-1")).headers.get("idempotency-replayed")).toBe("true");
  });

  it("is not executed beside itself on its node, although its claim could not be renewed in time", async () => {
    const waiting: ReceivedRequest[] = [];
    answer = (request) => waiting.push(request);
    const owner = await signUpWithKey(service.baseUrl);
    const first = ask(owner.key, "order-1");
    await expect.poll(() => waiting.length).toBe(1);
    await using sql = await openDatabaseOf(service);
    // As after an outage of the database.
    await sql`update idempotent_requests set renewed_at = now() - interval '5 minutes' where answered_at is null`;
    expect(await codeOf(await ask(owner.key, "order-1"))).toBe("idempotency_key_in_use");
    expect(await codeOf(await ask(owner.key, "order-1", { content: "else" }))).toBe("idempotency_key_reused");
    expect(waiting).toHaveLength(1);
    for (const request of waiting) answerWhole(request);
    expect((await first).headers.get("idempotency-replayed")).toBeNull();
    expect((await ask(owner.key, "order-1")).headers.get("idempotency-replayed")).toBe("true");
  });

  it("runs to completion when its client leaves, and has the answer for a retry", async () => {
    for (const stream of [false, true]) {
      const waiting: ReceivedRequest[] = [];
      answer = (request) => waiting.push(request);
      const owner = await signUpWithKey(service.baseUrl);
      const leaving = new AbortController();
      const left = ask(owner.key, "order-1", { stream, signal: leaving.signal }).catch(() => {});
      await expect.poll(() => waiting.length).toBe(1);
      leaving.abort();
      await left;
      // The service has handled what came before this: the connection's end.
      await fetch(`${service.baseUrl}/healthz`);
      const [request] = waiting;
      if (request === undefined) throw new Error("nothing came");
      if (stream) answerStream(request);
      else answerWhole(request);
      const repeat = await expect.poll(async () => {
        const response = await ask(owner.key, "order-1", { stream });
        await response.text();
        return response.headers.get("idempotency-replayed");
      });
      await repeat.toBe("true");
      expect(waiting).toHaveLength(1);
      const { entries } = await owner.trpc.audit.list.query();
      expect(entries.at(-1)).toMatchObject({
        endReason: "client_gone",
        usageSource: "upstream",
        costNanoUsd: COST,
      });
      expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(CREDIT - COST);
    }
  });

  it("is executed again after it failed", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    answer = ({ response }) => void response.writeHead(500).end("{}");
    expect((await ask(owner.key, "order-1")).status).toBe(502);
    answer = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ role: "assistant", content: "half" }), () => response.destroy());
    };
    expect(await (await ask(owner.key, "order-2", { stream: true })).text()).toContain("upstream_error");
    answer = answerWhole;
    expect((await ask(owner.key, "order-1")).status).toBe(200);
    answer = answerStream;
    expect(await (await ask(owner.key, "order-2", { stream: true })).text()).toContain("[DONE]");
  });

  it.each([true, false])(
    "is not executed again when its answer was too long to store (stream: %s)",
    async (stream) => {
      const text = "x".repeat(1024 * 1024);
      answer = (request) => (stream ? answerStream(request, text) : answerWhole(request, text));
      const owner = await signUpWithKey(service.baseUrl);
      expect(await (await ask(owner.key, "order-1", { stream })).text()).toContain(text);
      const repeat = await ask(owner.key, "order-1", { stream });
      expect(repeat.status).toBe(409);
      expect(repeat.headers.get("x-should-retry")).toBe("false");
      expect(await codeOf(repeat)).toBe("idempotent_answer_gone");
      expect(upstream.received).toHaveLength(1);
    },
  );

  it.each([
    ["a plain answer of an earlier version", "{}", 200, "{}"],
    ["an answer whose key is gone", `ost1.${Buffer.alloc(64, 1).toString("base64url")}`, 409, GONE],
  ])("has %s", async (_, kept, status, text) => {
    const owner = await signUpWithKey(service.baseUrl);
    await (await ask(owner.key, "order-1")).text();
    await using sql = await openDatabaseOf(service);
    const { id } = await owner.trpc.account.get.query();
    const changed = await sql`update idempotent_requests set answer = ${kept} where account_id = ${id}`;
    expect(changed.count).toBe(1);
    const repeat = await ask(owner.key, "order-1");
    expect(repeat.status).toBe(status);
    expect(await repeat.text()).toContain(text);
    expect(upstream.received).toHaveLength(1);
  });

  it("has an answer that no other account or idempotency key can read", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const stranger = await signUpWithKey(service.baseUrl);
    for (const [key, order] of [
      [owner.key, "order-1"],
      [owner.key, "order-2"],
      [stranger.key, "order-1"],
    ] as const) {
      await (await ask(key, order)).text();
    }
    await using sql = await openDatabaseOf(service);
    const accounts = [await owner.trpc.account.get.query(), await stranger.trpc.account.get.query()];
    const ids = sql.json(accounts.map(({ id }) => id));
    const copied = await sql`
      update idempotent_requests known set answer = (
        select other.answer from idempotent_requests other
        where other.account_id = ${accounts[0]?.id ?? ""}
          and (other.account_id, other.key_digest) <> (known.account_id, known.key_digest)
        order by other.key_digest = known.key_digest desc limit 1
      )
      where account_id in (select value::uuid from jsonb_array_elements_text(${ids}))`;
    expect(copied.count).toBe(3);
    for (const [key, order] of [
      [owner.key, "order-1"],
      [owner.key, "order-2"],
      [stranger.key, "order-1"],
    ] as const) {
      expect(await codeOf(await ask(key, order))).toBe(GONE);
    }
  });

  it("is refused when the idempotency key is invalid", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    for (const wrong of ["x".repeat(256), "schl\u00fcssel", "order 1"]) {
      const response = await ask(owner.key, wrong);
      expect(response.status).toBe(400);
      expect(await codeOf(response)).toBe("invalid_request");
    }
    expect((await ask(owner.key, "x".repeat(255))).status).toBe(200);
  });

  it("is executed again when its process died meanwhile", async () => {
    answer = () => {};
    await using first = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
    const owner = await signUpWithKey(first.baseUrl);
    const lost = ask(owner.key, "order-1", { at: first.baseUrl }).catch(() => {});
    await expect.poll(() => upstream.received.length).toBe(1);
    await first.kill();
    await lost;
    answer = answerWhole;
    await using second = await startService(inheritanceOf(first));
    expect((await ask(owner.key, "order-1", { at: second.baseUrl })).status).toBe(200);
  });

  it("runs to completion and is recorded when the service is stopping", async () => {
    const waiting: ReceivedRequest[] = [];
    answer = (request) => waiting.push(request);
    await using own = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
    const owner = await signUpWithKey(own.baseUrl);
    const leaving = new AbortController();
    const left = ask(owner.key, "order-1", { at: own.baseUrl, signal: leaving.signal }).catch(() => {});
    await expect.poll(() => waiting.length).toBe(1);
    leaving.abort();
    await left;
    const stopped = own.stop();
    await expect.poll(() => fetch(own.baseUrl).catch(() => "closed")).toBe("closed");
    for (const request of waiting) answerWhole(request);
    expect(await stopped).toBe(0);
    answer = answerWhole;
    await using next = await startService(inheritanceOf(own));
    const repeat = await ask(owner.key, "order-1", { at: next.baseUrl });
    expect(repeat.headers.get("idempotency-replayed")).toBe("true");
    expect(waiting).toHaveLength(1);
  });

  it.each([true, false])("holds nothing when its start can't be recorded (stream: %s)", async (stream) => {
    answer = stream ? answerStream : answerWhole;
    await using own = await startService({ env: { OSTIARY_CATALOG: catalog.file, OSTIARY_LOG: "silent" } });
    const owner = await signUpWithKey(own.baseUrl);
    const journal = join(own.dataDir, "journal");
    await rename(journal, `${journal}-away`);
    expect((await ask(owner.key, "order-1", { at: own.baseUrl, stream })).status).toBe(503);
    expect(await metricOf(own.baseUrl, "ostiary_credit_holds")).toBe(0);
    await rename(`${journal}-away`, journal);
    const again = await ask(owner.key, "order-1", { at: own.baseUrl, stream });
    expect(again.status).toBe(200);
    expect(again.headers.get("idempotency-replayed")).toBeNull();
    await again.text();
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(CREDIT - COST);
  });

  it.runIf(isDistributed).each(["kill", "stop"] as const)(
    "is not charged again when the database was unreachable at its end, and then came a %s",
    async (how) => {
      await using base = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
      await base.stop();
      const url = new URL(base.databaseUrl ?? "");
      await using way = await openTcpProxy(Number(url.port));
      url.port = String(way.port);
      const waiting: ReceivedRequest[] = [];
      answer = (request) => waiting.push(request);
      const env = { OSTIARY_CATALOG: catalog.file, OSTIARY_LOG: "silent" };
      const cutOff = await startService({ dataDir: base.dataDir, databaseUrl: url.href, env });
      const owner = await signUpWithKey(cutOff.baseUrl);
      const first = ask(owner.key, "order-1", { at: cutOff.baseUrl });
      await expect.poll(() => waiting.length).toBe(1);
      way.cut();
      for (const request of waiting) answerWhole(request);
      expect((await first).status).toBe(200);
      await cutOff[how]();
      way.heal();
      answer = answerWhole;
      await using next = await startService({ ...inheritanceOf(base), env });
      const repeat = await ask(owner.key, "order-1", { at: next.baseUrl });
      // The answer was in the journal, with the entry that pays for it.
      expect(repeat.status).toBe(200);
      expect(repeat.headers.get("idempotency-replayed")).toBe("true");
      expect(await repeat.text()).toBe(await (await first).text());
      const { trpc } = visit(next.baseUrl, { authorization: `Bearer ${owner.key}` });
      expect((await trpc.credits.balance.query()).balanceNanoUsd).toBe(CREDIT - COST);
    },
  );

  it.runIf(isDistributed)("is executed once across several nodes", async () => {
    const { databaseUrl } = service;
    if (databaseUrl === undefined) throw new Error("nodes that share nothing prove nothing");
    await using other = await startService({ databaseUrl, env: { OSTIARY_CATALOG: catalog.file } });
    const owner = await signUpWithKey(service.baseUrl);
    const asked = Array.from({ length: 20 }, (_, index) =>
      ask(owner.key, "order-1", { at: index % 2 === 0 ? service.baseUrl : other.baseUrl }),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
    expect(upstream.received).toHaveLength(1);
  });
});
