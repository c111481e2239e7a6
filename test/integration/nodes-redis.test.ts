import { describe, expect, it } from "vitest";
import { metricOf } from "../fixtures/metrics.ts";
import { signInOperator, signUpEnterprise, startOperatedService } from "../fixtures/operator.ts";
import { openRaw } from "../fixtures/raw-http.ts";
import { type RedisServer, startRedis } from "../fixtures/redis.ts";
import { statusOf } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { openTcpProxy, type TcpProxy } from "../fixtures/tcp-proxy.ts";
import { type Owner, signUpWithKey, visit } from "../fixtures/user.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

const SILENT = { OSTIARY_LOG: "silent" };

function urlOf(way: TcpProxy): string {
  return `redis://127.0.0.1:${way.port}`;
}

/** Two nodes of one database, each with its own way to a primary that has a replica. */
interface Pair extends AsyncDisposable {
  readonly primary: RedisServer;
  readonly replica: RedisServer;
  readonly nodes: readonly [Service, Service];
  readonly ways: readonly [TcpProxy, TcpProxy];
  /** The first node's way to PostgreSQL. */
  readonly databaseWay: TcpProxy;
  /** Signed in at the second node. */
  readonly owner: Owner;
}

async function startPair(...primarySettings: string[]): Promise<Pair> {
  const started: AsyncDisposable[] = [];
  const keep = <Part extends AsyncDisposable>(part: Part): Part => {
    started.unshift(part);
    return part;
  };
  const dispose = async () => {
    for (const part of started) await part[Symbol.asyncDispose]();
  };
  try {
    const primary = keep(await startRedis(...primarySettings));
    const replica = keep(await startRedis("--replicaof", "127.0.0.1", String(primary.port)));
    await expect.poll(() => replica.command("info", "replication")).toContain("master_link_status:up");
    const wayOfFirst = keep(await openTcpProxy(primary.port));
    const wayOfSecond = keep(await openTcpProxy(primary.port));
    const second = keep(await startOperatedService({ env: { ...SILENT, REDIS_URL: urlOf(wayOfSecond) } }));
    // By a proxy, too. What its keys in Redis begin with is made of the database's name, which is the same.
    const url = new URL(second.databaseUrl ?? "");
    const databaseWay = keep(await openTcpProxy(Number(url.port)));
    url.port = String(databaseWay.port);
    const env = { ...SILENT, REDIS_URL: urlOf(wayOfFirst) };
    const first = keep(await startOperatedService({ databaseUrl: url.href, env }));
    const owner = await signUpEnterprise(second.baseUrl, await signInOperator(second.baseUrl));
    return {
      primary,
      replica,
      nodes: [first, second],
      ways: [wayOfFirst, wayOfSecond],
      databaseWay,
      owner,
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Makes the replica a primary, to which the second node goes. The old primary lives on, and knows nothing of it. */
async function failOver({ replica, ways: [, way] }: Pair): Promise<void> {
  await replica.command("replicaof", "no", "one");
  way.retarget(replica.port);
  way.cut();
  way.heal();
}

/** A client that asks a node again and again; what those of its requests were answered that began after a moment. */
function keepAsking(baseUrl: string, key: string) {
  let isAfter = false;
  let isStopped = false;
  const answers: number[] = [];
  const asking = (async () => {
    while (!isStopped) {
      const beganAfter = isAfter;
      const status = await statusOf(baseUrl, key);
      if (beganAfter) answers.push(status);
    }
  })();
  return {
    answers,
    from: () => {
      isAfter = true;
    },
    stop: async () => {
      isStopped = true;
      await asking;
    },
  };
}

/**
 * What a node decides of a key. A node that stays apart from another one connects to Redis again from time to time, to see where
 * the address leads, and answers 503 until it knows.
 */
async function decisionOf(baseUrl: string, key: string): Promise<number> {
  let status = 503;
  const ask = async () => {
    status = await statusOf(baseUrl, key);
    return status;
  };
  await expect.poll(ask).not.toBe(503);
  return status;
}

/** Repeats a change until it is answered: what is not in force yet says so. */
async function untilAnswered(change: () => Promise<unknown>): Promise<void> {
  await expect
    .poll(() =>
      change().then(
        () => "answered",
        (error) => error.data?.httpStatus,
      ),
    )
    .toBe("answered");
}

describe.skipIf(!isDistributed)("a node that stays with the old primary after a failover", () => {
  it("rejects a key as soon as another node has answered its revocation", async () => {
    await using pair = await startPair();
    const [first, second] = pair.nodes;
    const { id, key } = await pair.owner.trpc.keys.create.mutate({ name: "to be revoked" });
    const kept = await pair.owner.trpc.keys.create.mutate({ name: "to be kept" });
    for (const node of pair.nodes) expect(await statusOf(node.baseUrl, key)).toBe(200);

    const clients = Array.from({ length: 4 }, () => keepAsking(first.baseUrl, key));
    await failOver(pair);
    await untilAnswered(() => pair.owner.trpc.keys.revoke.mutate({ id }));
    for (const client of clients) client.from();
    await expect
      .poll(() => clients.reduce((sum, { answers }) => sum + answers.length, 0))
      .toBeGreaterThan(100);
    for (const client of clients) await client.stop();
    expect(clients.flatMap(({ answers }) => answers).filter((status) => status === 200)).toEqual([]);
    expect(await decisionOf(second.baseUrl, key)).toBe(401);
    // The node on the newer Redis is not kept from its work by the other.
    expect(await decisionOf(second.baseUrl, kept.key)).toBe(200);
    // While the second node connects again, no node uses a newer Redis, and the first one is ready for that moment.
    await expect.poll(async () => (await fetch(`${first.baseUrl}/readyz`)).status).toBe(503);
    // The alert for a node that stays apart depends on it.
    await expect.poll(() => metricOf(first.baseUrl, "ostiary_admission_fenced")).toBe(1);

    // As soon as it can get there, it goes to where the other is, though nothing has broken its connection.
    pair.ways[0].retarget(pair.replica.port);
    await expect.poll(() => statusOf(first.baseUrl, kept.key)).toBe(200);
    expect(await decisionOf(first.baseUrl, key)).toBe(401);
    expect(await metricOf(first.baseUrl, "ostiary_admission_fenced")).toBe(0);
  });

  it("connects to the new primary by itself when the address leads there", async () => {
    await using pair = await startPair();
    const [first] = pair.nodes;
    const { id, key } = await pair.owner.trpc.keys.create.mutate({ name: "to be revoked" });
    const kept = await pair.owner.trpc.keys.create.mutate({ name: "to be kept" });
    for (const node of pair.nodes) expect(await statusOf(node.baseUrl, key)).toBe(200);
    // Its connection to the old primary goes on as it was.
    pair.ways[0].retarget(pair.replica.port);
    await failOver(pair);
    await untilAnswered(() => pair.owner.trpc.keys.revoke.mutate({ id }));
    await expect.poll(() => statusOf(first.baseUrl, key)).toBe(401);
    expect(await decisionOf(first.baseUrl, kept.key)).toBe(200);
  });

  it("connects to the new primary when the old one has become its replica, and keeps the connection open", async () => {
    await using pair = await startPair();
    const { key } = await pair.owner.trpc.keys.create.mutate({ name: "kept" });
    for (const node of pair.nodes) expect(await statusOf(node.baseUrl, key)).toBe(200);
    await pair.replica.command("replicaof", "no", "one");
    for (const way of pair.ways) way.retarget(pair.replica.port);
    await pair.primary.command("replicaof", "127.0.0.1", String(pair.replica.port));
    for (const node of pair.nodes) await expect.poll(() => statusOf(node.baseUrl, key)).toBe(200);
    expect(await pair.primary.command("info", "replication")).toContain("role:slave");
  });

  it("rejects the key when it was stopped meanwhile, and continues with requests that had arrived", async () => {
    await using pair = await startPair();
    const [first, second] = pair.nodes;
    const { id, key } = await pair.owner.trpc.keys.create.mutate({ name: "to be revoked" });
    for (const node of pair.nodes) expect(await statusOf(node.baseUrl, key)).toBe(200);
    const connections = await Promise.all(Array.from({ length: 5 }, () => openRaw(first.baseUrl)));
    process.kill(first.pid, "SIGSTOP");
    try {
      await failOver(pair);
      // As soon as the stopped node counts as dead.
      await untilAnswered(() => pair.owner.trpc.keys.revoke.mutate({ id }));
      expect(await decisionOf(second.baseUrl, key)).toBe(401);
      for (const connection of connections)
        connection.send(`HEAD /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`);
    } finally {
      process.kill(first.pid, "SIGCONT");
    }
    const answers = await Promise.all(connections.map((connection) => connection.answer("HEAD")));
    for (const connection of connections) connection[Symbol.dispose]();
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toEqual([]);
  });

  it("is not affected by a node that has died", async () => {
    await using pair = await startPair();
    const [first, second] = pair.nodes;
    const { key } = await pair.owner.trpc.keys.create.mutate({ name: "key" });
    expect(await statusOf(first.baseUrl, key)).toBe(200);
    await failOver(pair);
    await expect.poll(() => statusOf(second.baseUrl, key)).toBe(200);
    await expect.poll(() => statusOf(first.baseUrl, key)).toBe(503);
    await second.kill();
    await expect.poll(() => statusOf(first.baseUrl, key)).toBe(200);
  });

  it("stops by the primary's own settings when it is cut off from the database as well", async () => {
    await using pair = await startPair("--min-replicas-to-write", "1", "--min-replicas-max-lag", "3");
    const [first, second] = pair.nodes;
    const { id, key } = await pair.owner.trpc.keys.create.mutate({ name: "key" });
    for (const node of pair.nodes) expect(await statusOf(node.baseUrl, key)).toBe(200);
    pair.databaseWay.cut();
    expect(await statusOf(first.baseUrl, key)).toBe(200);
    await failOver(pair);
    await untilAnswered(() => pair.owner.trpc.keys.revoke.mutate({ id }));
    expect(await decisionOf(second.baseUrl, key)).toBe(401);
    await expect.poll(() => statusOf(first.baseUrl, key)).toBe(503);
    pair.databaseWay.heal();
  });
});

describe.skipIf(!isDistributed)("a node that is started while Redis is split", () => {
  it("is refused when it would use the old primary, with the reason", { timeout: 300_000 }, async () => {
    await using pair = await startPair();
    const [first] = pair.nodes;
    await first.stop();
    await failOver(pair);
    const { key } = await pair.owner.trpc.keys.create.mutate({ name: "key" });
    await expect.poll(() => statusOf(pair.nodes[1].baseUrl, key)).toBe(200);
    const start = startService({
      databaseUrl: pair.nodes[1].databaseUrl ?? "",
      env: { ...SILENT, REDIS_URL: pair.primary.url },
    });
    await expect(start).rejects.toThrow(/another Redis server/);
    expect(await decisionOf(pair.nodes[1].baseUrl, key)).toBe(200);
  });
});

describe.skipIf(!isDistributed)("a node whose REDIS_URL leads to a replica", () => {
  it("is refused, with the reason", async () => {
    await using primary = await startRedis();
    await using replica = await startRedis("--replicaof", "127.0.0.1", String(primary.port));
    await expect.poll(() => replica.command("info", "replication")).toContain("master_link_status:up");
    const start = startService({ env: { ...SILENT, REDIS_URL: replica.url } });
    await expect(start).rejects.toThrow(/is a replica/);
  });
});

describe.skipIf(!isDistributed)("a node whose Redis does not identify itself", () => {
  const ADD_LIMITED_USER = [
    "acl",
    "setuser",
    "limited",
    "on",
    ">secret",
    "allkeys",
    "allchannels",
    "+@all",
    "-info",
  ];

  it("serves requests, and logs what it can't know", async () => {
    await using redis = await startRedis();
    await redis.command(...ADD_LIMITED_USER);
    await using node = await startService({
      env: { OSTIARY_LOG: "warn", REDIS_URL: `redis://limited:secret@127.0.0.1:${redis.port}` },
    });
    expect(node.stderr()).toContain("INFO");
    const { id, key, trpc } = await signUpWithKey(node.baseUrl);
    expect(await statusOf(node.baseUrl, key)).toBe(200);
    await redis.restart("empty");
    await redis.command(...ADD_LIMITED_USER);
    await expect.poll(() => statusOf(node.baseUrl, key)).toBe(200);
    await trpc.keys.revoke.mutate({ id });
    expect(await statusOf(node.baseUrl, key)).toBe(401);
  });
});

describe.skipIf(!isDistributed)("a silent connection to Redis", () => {
  it("is replaced: requests are admitted again within 10 seconds, and sign-in attempts counted", async () => {
    await using redis = await startRedis();
    await using way = await openTcpProxy(redis.port);
    await using node = await startService({ env: { ...SILENT, REDIS_URL: urlOf(way) } });
    const { key } = await signUpWithKey(node.baseUrl);
    const wrong = async () => {
      const email = `${crypto.randomUUID()}@example.com`;
      const { trpc } = visit(node.baseUrl);
      await trpc.auth.signIn.mutate({ email, password: "a wrong password" }).catch(() => {});
      return redis.command("--scan", "--pattern", `*sign-in-user-address:${email}*`);
    };
    expect(await statusOf(node.baseUrl, key)).toBe(200);
    expect(await wrong()).not.toBe("");
    way.silence();
    await expect.poll(() => statusOf(node.baseUrl, key), { timeout: 10_000 }).toBe(200);
    await expect.poll(wrong, { timeout: 10_000 }).not.toBe("");
  });

  it("is replaced even when no request uses it", async () => {
    await using redis = await startRedis();
    await using way = await openTcpProxy(redis.port);
    await using node = await startService({ env: { ...SILENT, REDIS_URL: urlOf(way) } });
    const connected = async () => {
      const list = await redis.command("client", "list", "type", "normal");
      return [...list.matchAll(/ age=(\d+) /g)].length;
    };
    const before = await connected();
    way.silence();
    // Redis still holds the silent ones; those that come beside them are new.
    await expect.poll(connected, { timeout: 10_000 }).toBeGreaterThan(before);
    // It admits once it has noted where the new connection leads.
    await expect
      .poll(async () => (await fetch(`${node.baseUrl}/readyz`)).status, { timeout: 10_000 })
      .toBe(200);
  });
});
