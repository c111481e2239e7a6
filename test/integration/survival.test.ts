import { once } from "node:events";
import { readdir, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeCatalog, writePricedCatalog } from "../fixtures/catalog.ts";
import { chunkOf, startModelServer } from "../fixtures/model-server.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { PASSWORD, signUpWithKey, visit } from "../fixtures/user.ts";

function chat(service: Service, key: string, content: string): Promise<Response> {
  return sendChat(service.baseUrl, key, { messages: [{ role: "user", content }] });
}

/** What a successor needs to go on where a service left off. */
function inheritance(service: Service) {
  return {
    dataDir: service.dataDir,
    ...(service.databaseUrl === undefined ? {} : { databaseUrl: service.databaseUrl }),
  };
}

it("a bundled database that ends is reported as an error, also where less is not logged", async () => {
  await using service = await startService({
    env: { OSTIARY_LOG: "error", DATABASE_URL: undefined, REDIS_URL: undefined },
  });
  const pidFile = await readFile(join(service.dataDir, "postgres/postmaster.pid"), "utf8");
  process.kill(Number(pidFile.split("\n", 1)[0]), "SIGKILL");
  await expect.poll(service.stderr).toContain("the bundled PostgreSQL ended unexpectedly");
  await expect.poll(async () => (await fetch(`${service.baseUrl}/readyz`)).status).toBe(200);
});

describe("a service that is killed at a random moment", () => {
  it("has exactly one entry for each request whose complete answer a client received", async () => {
    await using first = await startService();
    const owner = await signUpWithKey(first.baseUrl);
    const seen = new Set<string>();
    let current: Service = first;
    for (let round = 0; round < 3; round++) {
      const victim = current;
      let alive = true;
      const client = async () => {
        while (alive) {
          try {
            const response = await chat(victim, owner.key, "hi");
            await response.json();
            const id = response.headers.get("x-request-id");
            if (id !== null) seen.add(id);
          } catch {
            // Cut by the kill: what this client did not see whole it need not find.
            return;
          }
        }
      };
      const clients = Array.from({ length: 8 }, client);
      await expect.poll(() => seen.size, { interval: 5, timeout: 30_000 }).toBeGreaterThan(50 * (round + 1));
      await victim.kill();
      alive = false;
      await Promise.all(clients);
      current = await startService(inheritance(first));
    }
    const found: string[] = [];
    const { trpc } = visit(current.baseUrl, { authorization: `Bearer ${owner.key}` });
    for (let cursor: string | undefined; ; ) {
      const page = await trpc.audit.list.query({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
      found.push(...page.entries.map((entry) => entry.requestId));
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    await current.stop();
    expect(new Set(found).size).toBe(found.length);
    expect([...seen].filter((id) => !found.includes(id))).toEqual([]);
  });
});

describe("a request that is lost with its process", () => {
  it("leaves an entry that says so, and no hold", async () => {
    await using upstream = await startModelServer(({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ role: "assistant", content: "never ending" }));
    });
    await using catalog = await writePricedCatalog(upstream.baseUrl);
    const free = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: 1 };
    const env = { OSTIARY_CATALOG: catalog.file, OSTIARY_PLANS: JSON.stringify({ free }) };
    await using first = await startService({ env });
    const owner = await signUpWithKey(first.baseUrl);
    const ask = (service: Service, stream: boolean) =>
      sendChat(service.baseUrl, owner.key, { model: "acme/chat", stream });
    const response = await ask(first, true);
    const reader = response.body?.getReader();
    await reader?.read();
    expect((await ask(first, false)).status).toBe(429);
    await first.kill();

    await using second = await startService({ ...inheritance(first), env });
    const { trpc } = visit(second.baseUrl, { authorization: `Bearer ${owner.key}` });
    const { entries } = await trpc.audit.list.query({ model: "acme/chat" });
    const requestId = response.headers.get("x-request-id");
    expect(entries.find((entry) => entry.requestId === requestId)).toMatchObject({
      status: 500,
      endReason: "node_lost",
      usageSource: "none",
      costNanoUsd: 0n,
      sourceIp: "127.0.0.1",
    });
    expect(await trpc.credits.balance.query()).toEqual({
      balanceNanoUsd: 5_000_000_000n,
      reservedNanoUsd: 0n,
    });
  });
});

describe("an answer under AUDIT_DURABILITY=database", () => {
  it("ends only after its entry is in the database", async () => {
    await using first = await startService({ env: { AUDIT_DURABILITY: "database" } });
    const owner = await signUpWithKey(first.baseUrl);
    await (await chat(first, owner.key, "hi")).json();
    await first.kill();
    await rm(join(first.dataDir, "journal"), { recursive: true });
    const second = await startService(inheritance(first));
    const { trpc } = visit(second.baseUrl, { authorization: `Bearer ${owner.key}` });
    expect((await trpc.audit.list.query()).entries).toMatchObject([
      { endpoint: "POST /v1/chat/completions" },
    ]);
    await second.stop();
  });
});

describe("a service that is restarted", () => {
  it("still has its users, keys, entries and revocations", async () => {
    await using first = await startService();
    const owner = await signUpWithKey(first.baseUrl);
    const lost = await owner.trpc.keys.create.mutate({ name: "lost" });
    await owner.trpc.keys.revoke.mutate({ id: lost.id });
    await (await chat(first, owner.key, "before")).json();
    expect(await first.stop()).toBe(0);

    const second = await startService(inheritance(first));
    expect((await chat(second, owner.key, "after")).status).toBe(200);
    expect((await chat(second, lost.key, "after")).status).toBe(401);
    const visitor = visit(second.baseUrl);
    await visitor.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    expect((await visitor.trpc.audit.list.query()).entries.map((entry) => entry.status)).toEqual([
      401, 200, 200,
    ]);
    expect(await second.stop()).toBe(0);
    expect(await readdir(join(first.dataDir, "journal"))).toEqual([]);
  });

  it("does not wait for idle connections when it stops", async () => {
    await using service = await startService({ env: { OSTIARY_DRAIN_S: "3600" } });
    const socket = connect(Number(new URL(service.baseUrl).port), "127.0.0.1");
    await once(socket, "connect");
    // Whoever connected after it is served: so it is known.
    await fetch(`${service.baseUrl}/healthz`);
    const closed = once(socket, "close");
    expect(await service.stop()).toBe(0);
    await closed;
  });

  it("lets a stream finish first, and records it", async () => {
    await using service = await startService();
    const owner = await signUpWithKey(service.baseUrl);
    const response = await sendChat(service.baseUrl, owner.key, {
      model: "sandbox/lorem",
      messages: [{ role: "user", content: "tell" }],
      max_tokens: 20_000,
      stream: true,
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader?.read())?.value ?? "";
    const exited = service.stop();
    for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read())
      text += part.value;
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(await exited).toBe(0);
  });

  it("tells clients of requests that it aborts, and records the reason", async () => {
    await using upstream = await startModelServer(({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ role: "assistant", content: "never ending" }));
    });
    await using catalog = await writeCatalog({
      upstreams: { main: { dialect: "openai", baseUrl: upstream.baseUrl } },
      models: [{ id: "acme/chat", routes: [{ upstream: "main", model: "inner" }] }],
    });
    await using first = await startService({ env: { OSTIARY_CATALOG: catalog.file, OSTIARY_DRAIN_S: "1" } });
    const owner = await signUpWithKey(first.baseUrl);
    const ask = (stream: boolean) => sendChat(first.baseUrl, owner.key, { model: "acme/chat", stream });
    const streamed = await ask(true);
    const whole = ask(false);
    await expect.poll(() => upstream.received.length).toBe(2);
    const exited = first.stop();
    const text = await streamed.text();
    expect(text).toContain("never ending");
    expect(text).toContain("server_is_overloaded");
    expect(text).not.toContain("[DONE]");
    expect((await whole).status).toBe(503);
    expect(await exited).toBe(0);
    expect(await Promise.all(upstream.received.map(({ dropped }) => dropped))).toHaveLength(2);

    await using second = await startService(inheritance(first));
    const { trpc } = visit(second.baseUrl, { authorization: `Bearer ${owner.key}` });
    const { entries } = await trpc.audit.list.query();
    expect(entries.map(({ endReason }) => endReason)).toEqual(["shutdown", "shutdown"]);
    expect(entries.map(({ usageSource }) => usageSource).sort()).toEqual(["estimated", "none"]);
  });
});
