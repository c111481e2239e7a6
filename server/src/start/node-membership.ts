import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { FencedAdmissionStore } from "../admission/fenced-store.ts";
import type { RedisAdmissionStore } from "../admission/redis-store.ts";
import type { Config } from "../config/config.ts";
import { within } from "../errors/deadline.ts";
import type { NodeRow, PostgresNodes } from "../store/nodes-store.ts";
import { StartupFailure } from "./startup-failure.ts";

const ID_FILE = "node-id";
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
/** For so long a node that stands alone and was not stopped properly keeps others from its database. */
const LEASE_MS = 10 * 60_000;
/** Cut off from the database for so long, it stops to admit: before the lease is over, by any clock. */
const FENCED_AFTER_MS = 9 * 60_000;
/** Time for a node that is being replaced to stop, and for others to leave their mark in a Redis that lost it. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 500;
const COMPANY_MS = 5_000;
const RENEWAL_PATIENCE_MS = 5_000;

export interface MembershipParts {
  /** See {@link nodeId}. */
  readonly id: string;
  readonly registry: PostgresNodes;
  /** The store that nodes share; `null` for a node that stands alone. */
  readonly redis: RedisAdmissionStore | null;
  readonly fence: Pick<FencedAdmissionStore, "fence" | "lift">;
  /** Called once, when somebody has said that this node is gone. */
  readonly onReplaced: () => void;
}

/** A node's place among those that use its database. */
export interface Membership {
  /** To be called every second or so. */
  renew(): Promise<void>;
  leave(): Promise<void>;
}

/**
 * Enters the node among those that use the configured database. Nodes must hear of each other's changes: either they
 * all share one Redis, or there is one node. (The embedded database has one node by its folder's lock.)
 *
 * @throws {StartupFailure} when nodes are there that would not hear of this one's changes.
 */
export async function joinNodes(config: Config, parts: MembershipParts): Promise<Membership> {
  if (config.databaseUrl === null) return { renew: async () => {}, leave: async () => {} };
  const { id, registry, redis, fence } = parts;
  if (config.takeOver) await registry.removeOthers(id);
  await enter(registry, { id, isAlone: redis === null });
  const mark = redis === null ? null : await shareRedis(registry, redis, id);

  let seenMs = performance.now();
  let isReplaced = false;
  return {
    renew: async () => {
      if (redis === null && performance.now() - seenMs > FENCED_AFTER_MS) {
        fence.fence("the node was cut off from the database for too long to stand alone");
      }
      const askedMs = performance.now();
      const isThere = await within(RENEWAL_PATIENCE_MS, () => registry.renew(id));
      if (isThere) {
        seenMs = askedMs;
        fence.lift();
      } else if (!isReplaced) {
        isReplaced = true;
        fence.fence("another node has taken the database over");
        parts.onReplaced();
      }
      // A Redis that was emptied has lost its mark too.
      if (mark !== null) await redis?.mark(mark);
    },
    leave: () => registry.remove(id),
  };
}

async function enter(
  registry: PostgresNodes,
  { id, isAlone }: { readonly id: string; readonly isAlone: boolean },
): Promise<void> {
  const coordination = isAlone ? "alone" : "redis";
  const label = nodeLabel();
  // Nodes with a Redis go on while they are cut off from the database: their age says nothing.
  const isInTheWay = (other: NodeRow) =>
    other.coordination === "alone" ? other.seenAgoMs < LEASE_MS : isAlone;
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    const [other] = await registry.enter({ id, coordination, label }, isInTheWay);
    if (other === undefined) return;
    if (waitedMs >= PATIENCE_MS) throw new StartupFailure(inTheWay(other, isAlone));
    await pause();
  }
}

function inTheWay(other: NodeRow, isAlone: boolean): string {
  const seen = `${other.label}, last seen ${Math.round(other.seenAgoMs / 1_000)} s ago`;
  const gone = "If that node is gone for good, start once with OSTIARY_TAKE_OVER=1.";
  return isAlone
    ? `Another node uses the database of DATABASE_URL (${seen}). Set REDIS_URL, the same for all nodes, or stop it. ${gone}`
    : `A node without REDIS_URL uses the database of DATABASE_URL (${seen}). Stop it, or give it the same REDIS_URL. ${gone}`;
}

/** Makes sure that the nodes of a database share a Redis, and that nobody else uses their part of it. */
async function shareRedis(registry: PostgresNodes, redis: RedisAdmissionStore, id: string): Promise<string> {
  const mark = await registry.redisMark();
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    const there = await redis.markThere();
    if (there === mark) break;
    if (there !== null) {
      await registry.remove(id);
      throw new StartupFailure(
        "The Redis of REDIS_URL is used by the nodes of another database. Set OSTIARY_REDIS_PREFIX to another value for each.",
      );
    }
    if (!(await registry.hasCompany(id, COMPANY_MS))) break;
    if (waitedMs >= PATIENCE_MS) {
      await registry.remove(id);
      throw new StartupFailure(
        "Other nodes use the database of DATABASE_URL with another Redis. REDIS_URL and OSTIARY_REDIS_PREFIX must be the same for all of them.",
      );
    }
    await pause();
  }
  await redis.mark(mark);
  await registry.sharesRedis(id);
  return mark;
}

/** For people: which process this is. */
export function nodeLabel(): string {
  return `${hostname()}, process ${process.pid}`;
}

/** Kept in the data folder, which one node uses at a time: a node that was killed is the same one when it is back. */
export async function nodeId(dataDir: string): Promise<string> {
  const file = join(dataDir, ID_FILE);
  const known = await readFile(file, "utf8").catch(() => "");
  if (UUID.test(known.trim())) return known.trim();
  const id = randomUUID();
  await writeFile(file, `${id}\n`, { mode: 0o600 });
  return id;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
