import { rm } from "node:fs/promises";
import { expect } from "vitest";
import { type FaultProxy, openFaultProxy } from "../fixtures/fault-proxy.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { postgresStatements } from "../fixtures/postgres-statements.ts";
import { type RedisServer, startRedis } from "../fixtures/redis.ts";
import { type Service, startService } from "../fixtures/service.ts";
import type { Visitor } from "../fixtures/user.ts";
import { RECOVERY, statusOfGet } from "./asking.ts";
import { type GatedModel, startGatedModel } from "./gated-model.ts";
import { WITHOUT_CREDIT } from "./money.ts";

/** A node of which each way to a store can be hurt. */
export interface FaultyNode {
  /** The process that there is now. */
  readonly service: Service;
  readonly baseUrl: string;
  readonly dataDir: string;
  readonly database: FaultProxy;
  readonly redis: FaultProxy;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM. Resolves when the process has ended. */
  stop(): Promise<number | null>;
  /** Starts a new process on the same data folder. */
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Undoes what a test may have left: heals both ways, and starts what was killed. `isBroken`: by a new process in any case. */
  mend(isBroken: boolean): Promise<void>;
  /** What `/readyz` says: as soon as it says anything, it is within 2 seconds. */
  readiness(): Promise<number | "broken" | "hung">;
  /** See {@link metricOf}. */
  metric(name: RegExp): Promise<number | null>;
}

export interface FaultyNodes extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly model: GatedModel;
  /** Hurt by the tests. */
  readonly node: FaultyNode;
  /** Shares the stores, and has a way of its own to Redis; to the database it goes straight. */
  readonly other: FaultyNode;
  /** Signed in at {@link other}. */
  readonly operator: Visitor;
  /** Starts one more, on ways of which none can be hurt. */
  startThird(env: Readonly<Record<string, string>>): Promise<Service>;
  /** Resolves when all that nodes have in their journals is in the database. */
  settled(nodes?: readonly FaultyNode[]): Promise<void>;
}

/** Two nodes on a database and a Redis of their own. */
export async function startFaultyNodes(env: Readonly<Record<string, string>> = {}): Promise<FaultyNodes> {
  const redis = await startRedis();
  const model = await startGatedModel();
  const shared = {
    ...model.env,
    OSTIARY_LOG: "error",
    OSTIARY_DRAIN_S: "1",
    ...WITHOUT_CREDIT,
    ...env,
  };
  const ways: FaultProxy[] = [];
  const folders: string[] = [];

  async function startNode(databaseUrl: string | null): Promise<FaultyNode> {
    const wayToRedis = await openFaultProxy(redis.port);
    const settings = { ...shared, REDIS_URL: `redis://127.0.0.1:${wayToRedis.port}` };
    ways.push(wayToRedis);
    if (databaseUrl === null) {
      const service = await startOperatedService({ env: settings });
      const port = Number(new URL(service.databaseUrl ?? "").port);
      const wayToDatabase = await openFaultProxy(port, { readStatements: postgresStatements });
      ways.push(wayToDatabase);
      return nodeOf(service, wayToDatabase, wayToRedis, async () => {
        throw new Error("the one that made the database stays");
      });
    }
    const url = new URL(databaseUrl);
    const wayToDatabase = await openFaultProxy(Number(url.port), { readStatements: postgresStatements });
    ways.push(wayToDatabase);
    url.port = String(wayToDatabase.port);
    const first = await startService({ env: settings, databaseUrl: url.href });
    folders.push(first.dataDir);
    return nodeOf(first, wayToDatabase, wayToRedis, (more) =>
      startService({ env: { ...settings, ...more }, databaseUrl: url.href, dataDir: first.dataDir }),
    );
  }

  const other = await startNode(null);
  const node = await startNode(other.service.databaseUrl ?? "");
  const operator = await signInOperator(other.baseUrl);
  return {
    redis,
    model,
    node,
    other,
    operator,
    startThird: (more) =>
      startService({
        env: { ...shared, REDIS_URL: redis.url, ...more },
        databaseUrl: other.service.databaseUrl ?? "",
      }),
    settled: async (nodes = [node, other]) => {
      for (const { metric } of nodes)
        await expect.poll(() => metric(/^ostiary_recorder_waiting_entries$/), RECOVERY).toBe(0);
    },
    [Symbol.asyncDispose]: async () => {
      // Killed: a node that a test has found to hang would not stop.
      await node.kill();
      await other.kill();
      await other.service[Symbol.asyncDispose]();
      for (const way of ways) await way[Symbol.asyncDispose]();
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
      await redis[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

function nodeOf(
  first: Service,
  database: FaultProxy,
  redis: FaultProxy,
  startAgain: (env: Readonly<Record<string, string>>) => Promise<Service>,
): FaultyNode {
  let service = first;
  let isKilled = false;
  const kill = async () => {
    isKilled = true;
    await service.kill();
  };
  const start = async (env = {}) => {
    service = await startAgain(env);
    isKilled = false;
  };
  return {
    get service() {
      return service;
    },
    get baseUrl() {
      return service.baseUrl;
    },
    dataDir: first.dataDir,
    database,
    redis,
    kill,
    stop: () => {
      // Whether it stops is what a test wants to know: if not, it is killed with what the test left.
      isKilled = true;
      return service.stop();
    },
    start,
    mend: async (isBroken) => {
      database.heal();
      redis.heal();
      // Also one that was told to stop, and did not.
      if (isBroken || isKilled) await kill();
      if (isKilled) await start();
    },
    readiness: () => statusOfGet(`${service.baseUrl}/readyz`, undefined, 5_000),
    metric: (name) => metricOf(service.baseUrl, name),
  };
}

/** The sum of a metric of a node, over all its labels; `null` where there is none. */
export async function metricOf(baseUrl: string, name: RegExp): Promise<number | null> {
  const response = await fetch(`${baseUrl}/metrics`, { signal: AbortSignal.timeout(5_000) });
  const values = (await response.text()).split("\n").flatMap((line) => {
    const [, found = "", value] = /^(\w+)(?:\{.*\})? (\S+)$/.exec(line) ?? [];
    return name.test(found) ? [Number(value)] : [];
  });
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}
