import { rm } from "node:fs/promises";
import { expect } from "vitest";
import { type FaultProxy, openFaultProxy } from "../fixtures/fault-proxy.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { postgresStatements } from "../fixtures/postgres-statements.ts";
import { type RedisServer, startRedis } from "../fixtures/redis.ts";
import { type Service, startService } from "../fixtures/service.ts";
import type { Visitor } from "../fixtures/user.ts";
import { type GatedModel, startGatedModel } from "./gated-model.ts";
import { WITHOUT_CREDIT } from "./money.ts";
import { metricOf, RECOVERY, statusOfGet } from "./requests.ts";

/** A node whose connections to both stores run through fault proxies. */
export interface FaultyNode {
  /** The current process. */
  readonly service: Service;
  readonly baseUrl: string;
  readonly dataDir: string;
  readonly database: FaultProxy;
  readonly redis: FaultProxy;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Sends SIGTERM. Resolves when the process has ended. */
  stop(): Promise<number | null>;
  /** Starts a new process on the same data folder. */
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Heals both proxies and starts the node if it was ended. `isBroken`: replaces its process in any case. */
  mend(isBroken: boolean): Promise<void>;
  /** The status of `/readyz`, which promises to answer within 2 seconds. */
  readiness(): Promise<number | "broken" | "hung">;
  /** See {@link metricOf}. */
  metric(name: RegExp): Promise<number | null>;
}

export interface FaultyNodes extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly model: GatedModel;
  /** The node whose connections the tests disturb. */
  readonly node: FaultyNode;
  /** A second node on the same stores. It has a Redis proxy of its own and reaches the database directly. */
  readonly other: FaultyNode;
  /** An operator who is signed in at {@link other}. */
  readonly operator: Visitor;
  /** Starts one more node, which reaches both stores directly. */
  startThird(env: Readonly<Record<string, string>>): Promise<Service>;
  /** Resolves when the nodes have sent all their entries to the database. */
  settled(nodes?: readonly FaultyNode[]): Promise<void>;
}

/** Starts two nodes that share a new database and a Redis server of their own. */
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
        throw new Error("the node that created the database is not started again");
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
      // Killed, because a node that hangs would not stop.
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
      // A test may find that the process does not stop; `mend` kills it then.
      isKilled = true;
      return service.stop();
    },
    start,
    mend: async (isBroken) => {
      database.heal();
      redis.heal();
      // Also a process that did not stop when it was told to.
      if (isBroken || isKilled) await kill();
      if (isKilled) await start();
    },
    readiness: () => statusOfGet(`${service.baseUrl}/readyz`, undefined, 5_000),
    metric: (name) => metricOf(service.baseUrl, name),
  };
}
