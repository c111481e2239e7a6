import superjson from "superjson";
import { describe, expect, it } from "vitest";
import { sendChat } from "../fixtures/request.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

const service = sharedByFile(startService);

async function chat(key: string, model = "sandbox/echo", at = service.baseUrl): Promise<string> {
  const response = await sendChat(at, key, { model });
  await response.arrayBuffer();
  // A busy machine may refuse a request before its key is known; then it is in no log.
  if (response.status === 503) return chat(key, model, at);
  return response.headers.get("x-request-id") ?? "";
}

interface Tail {
  readonly requestIds: string[];
  readonly lastEventId: () => string;
  readonly ended: Promise<string>;
  leave(): void;
}

/** Follows the log by what `EventSource` receives, with the headers given. */
async function follow(
  headers: Record<string, string>,
  input: object = {},
  at = service.baseUrl,
): Promise<Tail> {
  const query = encodeURIComponent(JSON.stringify(superjson.serialize(input)));
  const leaving = new AbortController();
  const response = await fetch(`${at}/trpc/audit.tail?input=${query}`, {
    headers: { ...headers, accept: "text/event-stream" },
    signal: leaving.signal,
  });
  expect(response.status).toBe(200);
  const requestIds: string[] = [];
  let lastEventId = "";
  let connected: () => void = () => {};
  const isConnected = new Promise<void>((resolve) => {
    connected = resolve;
  });
  const read = async (): Promise<string> => {
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const event = Object.fromEntries(
          text
            .slice(0, end)
            .split("\n")
            .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
        );
        text = text.slice(end + 2);
        if (event.event === "connected") connected();
        if (event.event === "serialized-error") return event.data ?? "";
        if (event.id === undefined) continue;
        lastEventId = event.id;
        const { entries } = superjson.deserialize<{ entries: { requestId: string }[] }>(
          JSON.parse(event.data ?? ""),
        );
        requestIds.push(...entries.map(({ requestId }) => requestId));
      }
    }
    return "";
  };
  const ended = read().catch(() => "");
  await isConnected;
  return { requestIds, lastEventId: () => lastEventId, ended, leave: () => leaving.abort() };
}

async function ownerWithKey(): Promise<Owner & { key: string; id: string; headers: Record<string, string> }> {
  const owner = await signUp(service.baseUrl);
  const { key, id } = await owner.trpc.keys.create.mutate({ name: "busy" });
  return { ...owner, key, id, headers: { cookie: owner.cookie() } };
}

/** Until the following has begun: what is recorded before is no news. */
async function begun(tail: Tail, key: string): Promise<void> {
  await expect
    .poll(async () => {
      if (tail.requestIds.length === 0) await chat(key);
      return tail.requestIds.length;
    })
    .toBeGreaterThan(0);
}

describe("the live tail of the audit log", () => {
  it("sends each entry once, in the order of recording, and resumes where it was cut", async () => {
    const { key, headers } = await ownerWithKey();
    const tail = await follow(headers);
    await begun(tail, key);
    const before = tail.requestIds.length;
    const asked = await Promise.all(Array.from({ length: 30 }, () => chat(key)));
    await expect.poll(() => asked.every((id) => tail.requestIds.includes(id))).toBe(true);
    expect(new Set(tail.requestIds).size).toBe(tail.requestIds.length);
    expect(tail.requestIds.length).toBeGreaterThanOrEqual(before + 30);
    tail.leave();
    await tail.ended;

    const missed = [await chat(key), await chat(key)];
    const again = await follow(headers, { lastEventId: tail.lastEventId() });
    await expect.poll(() => again.requestIds).toEqual(missed);
    again.leave();
  });

  it("misses no entry if it is cut before the first one", async () => {
    const { key, headers, trpc } = await ownerWithKey();
    await chat(key);
    // A read waits until what was answered is recorded.
    await trpc.audit.list.query();
    const tail = await follow(headers);
    await expect.poll(() => tail.lastEventId()).not.toBe("");
    tail.leave();
    await tail.ended;
    expect(tail.requestIds).toEqual([]);
    const missed = await chat(key);
    const again = await follow(headers, { lastEventId: tail.lastEventId() });
    await expect.poll(() => again.requestIds).toEqual([missed]);
    again.leave();
  });

  it("tells of a gap although there is no entry yet, as after a restore of the database", async () => {
    const { headers } = await ownerWithKey();
    const tail = await follow(headers, { lastEventId: "999999" });
    await expect.poll(() => tail.lastEventId()).not.toBe("");
    expect(tail.lastEventId()).not.toBe("999999");
    tail.leave();
  });

  it("sends only matching entries of its own account", async () => {
    const one = await ownerWithKey();
    const other = await ownerWithKey();
    const tail = await follow(one.headers, { model: "sandbox/lorem" });
    const lorem = await follow(one.headers, { model: "sandbox/lorem" });
    await expect
      .poll(async () => {
        await chat(other.key, "sandbox/lorem");
        await chat(one.key, "sandbox/echo");
        await chat(one.key, "sandbox/lorem");
        return tail.requestIds.length;
      })
      .toBeGreaterThan(2);
    const { entries } = await one.trpc.audit.list.query({ model: "sandbox/lorem" });
    const own = entries.map(({ requestId }) => requestId);
    expect(tail.requestIds.every((id) => own.includes(id))).toBe(true);
    tail.leave();
    lorem.leave();
  });

  it("ends when its key is revoked or its session signs out", async () => {
    const owner = await ownerWithKey();
    const spare = await owner.trpc.keys.create.mutate({ name: "spare" });
    const byKey = await follow({ authorization: `Bearer ${owner.key}` });
    const bySession = await follow(owner.headers);
    await begun(byKey, spare.key);
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    const afterRevocation = byKey.requestIds.length;
    const seen = await chat(spare.key);
    expect(await byKey.ended).toContain("revoked_api_key");
    expect(byKey.requestIds.length).toBe(afterRevocation);
    await expect.poll(() => bySession.requestIds).toContain(seen);
    await owner.trpc.auth.signOut.mutate();
    expect(await bySession.ended).toContain("not_signed_in");
  });

  it("does not prevent the service from stopping", async () => {
    await using own = await startService();
    const owner = await signUp(own.baseUrl);
    const tail = await follow({ cookie: owner.cookie() }, {}, own.baseUrl);
    expect(await own.stop()).toBe(0);
    await tail.ended;
  });

  it.runIf(isDistributed)("sends entries that other nodes record", async () => {
    const { databaseUrl } = service;
    if (databaseUrl === undefined) throw new Error("nodes that share nothing prove nothing");
    await using other = await startService({ databaseUrl });
    const { key, headers } = await ownerWithKey();
    const tail = await follow(headers);
    await begun(tail, key);
    const id = await chat(key, "sandbox/echo", other.baseUrl);
    await expect.poll(() => tail.requestIds).toContain(id);
    tail.leave();
  });
});
