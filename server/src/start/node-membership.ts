import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Logger } from "pino";
import { AdmissionStoreUnavailable } from "../admission/admission-store.ts";
import type { Admissions } from "../admission/admissions.ts";
import { DatabaseEpoch, DatabaseEpochEnded, type PositionInDatabase } from "../admission/database-epoch.ts";
import type { NodeLife, NodeRow, PostgresNodes } from "../admission/nodes-store.ts";
import { type Joining, RedisAgreement } from "../admission/redis-agreement.ts";
import type { RedisAdmissionStore } from "../admission/redis-store.ts";
import type { Config } from "../config/config.ts";
import { withTimeout } from "../errors/deadline.ts";
import { nodeLabel } from "./node-id.ts";
import { StartupFailure } from "./startup-failure.ts";

/** How long a single node that crashed keeps others from its database. It counts from its last renewal, by the database's clock. */
const LEASE_MS = 10 * 60_000;
/** A single node that can't reach the database for this long stops admitting requests, well before its lease ends. */
const FENCED_AFTER_MS = 9 * 60_000;
/** How long a starting node waits for a node that is stopping, and for others to restore the owner id in an emptied Redis. */
const JOIN_TIMEOUT_MS = 10_000;
/** The interval at which a starting node tries again to join. */
const PAUSE_MS = 500;
/** A starting node counts other nodes as running if they were seen within this time. */
const RUNNING_MS = 5_000;
/** A renewal that takes longer has failed. */
const RENEWAL_TIMEOUT_MS = 5_000;
/** Nodes that share Redis continue without a node that was not seen for 10 seconds. A process that was stopped for this long therefore checks its membership first. */
const MAX_PAUSE_MS = 5_000;

export type Membership = Awaited<ReturnType<typeof joinNodes>>;

type OnReplaced = (reason: string, what: "node" | "database") => void;

interface MembershipParts {
  /** The id of the node, which its data folder holds. */
  readonly id: string;
  readonly registry: PostgresNodes;
  readonly position: PositionInDatabase;
  /** The store that nodes share; `null` for a single node. */
  readonly redis: RedisAdmissionStore | null;
  readonly admissions: Pick<
    Admissions,
    "fence" | "fenceApart" | "lift" | "confirmPublications" | "beforeUse"
  >;
  /** Milliseconds of a clock that also counts the time for which the machine was suspended. */
  readonly passedMs: () => number;
  readonly log: Logger;
  /** Whether the service is stopping, so that a start that waits for other nodes ends. */
  readonly isStopping: () => boolean;
  /**
   * Called once, with the reason, when the node cannot continue: another process is this node (`"node"`), or its database has another
   * history (`"database"`).
   */
  readonly onReplaced: OnReplaced;
}

/**
 * Registers the node in the configured database. Nodes must receive each other's changes: either all share one Redis, or
 * there is one node. (The bundled database has one node because its folder is locked.)
 *
 * @throws {StartupFailure} if there are nodes that would not receive this one's changes.
 */
export async function joinNodes(config: Config, parts: MembershipParts) {
  const { id, registry, redis, admissions, onReplaced } = parts;
  if (config.databaseUrl === null)
    return {
      renew: async () => {},
      fenceIfPresumedGone: () => {},
      renewMembership: async () => {},
      leave: async () => {},
      exchangeSettings: async () => [],
    };
  if (config.takeOver) await registry.removeOthers(id);
  const life = randomUUID();
  await enterRegistry(parts, { id, life, label: nodeLabel(config.dataDir) });
  let isReplaced = false;
  const replaced: OnReplaced = (reason, what) => {
    if (isReplaced) return;
    isReplaced = true;
    admissions.fence(reason);
    onReplaced(reason, what);
  };
  const joining =
    redis === null ? standAlone(parts, life, replaced) : shareRedis(parts, redis, life, replaced);
  const { renew, fenceIfPresumedGone } = await joining.catch(async (error: unknown) => {
    // Otherwise the row of a start that failed or was stopped here would keep other nodes from starting.
    await registry.remove({ id, life });
    throw error;
  });
  admissions.beforeUse(fenceIfPresumedGone);
  return {
    /** Renews the membership. Call it about every second. */
    renew,
    /** Fences the node if others may count it as gone, such as after its machine was suspended. Call it every second, whatever `renew` waits for. */
    fenceIfPresumedGone,
    /** Renews the membership before the first request: after a long start others may count the node as gone. If this fails, a job repeats it. */
    renewMembership: async () => {
      fenceIfPresumedGone();
      await renew().catch(() => {});
    },
    leave: () => registry.remove({ id, life }),
    /** Records the node's settings. @returns those of the other nodes. */
    exchangeSettings: (own: Parameters<PostgresNodes["exchangeSettings"]>[1]) =>
      registry.exchangeSettings({ id, life }, own),
  };
}

const TAKEN_OVER = "another node has taken over the database";

/** Checks the epoch of the database. @returns whether the node can continue. */
async function isInEpoch(epoch: DatabaseEpoch, replaced: OnReplaced): Promise<boolean> {
  try {
    await epoch.check();
    return true;
  } catch (error) {
    if (!(error instanceof DatabaseEpochEnded)) throw error;
    replaced(error.message, "database");
    return false;
  }
}

/** Publishes a change once the database's position covers it: see {@link DatabaseEpoch.advance}. */
async function publishIn(epoch: DatabaseEpoch, publish: () => Promise<void>): Promise<void> {
  await epoch.advance();
  await publish();
}

/** The renewal of a single node. It stops admitting requests before others may take over its database. */
async function standAlone(
  { id, registry, position, admissions, passedMs }: MembershipParts,
  life: string,
  replaced: OnReplaced,
) {
  /** Resolves with whether the node is still in the registry. */
  const renewRow = () => withTimeout(RENEWAL_TIMEOUT_MS, () => registry.renew({ id, life }));
  const epoch = new DatabaseEpoch({ position, redis: null, admissions });
  await epoch.mayJoin(async () => false);
  admissions.confirmPublications(async (publish) => {
    await publishIn(epoch, publish);
    // A node that has replaced this one in the meantime sees the change only if it reads the account after the commit.
    if (await renewRow()) return;
    replaced(TAKEN_OVER, "node");
    throw new Error(TAKEN_OVER);
  });
  let seenMs = passedMs();
  const isLost = () => passedMs() - seenMs > FENCED_AFTER_MS;
  const fenceIfPresumedGone = () => {
    if (isLost()) admissions.fence("the node lost the database for too long to continue alone");
  };
  const renew = async () => {
    const askedMs = passedMs();
    if (!(await isInEpoch(epoch, replaced))) return;
    if (await renewRow()) {
      seenMs = askedMs;
      // The answer may be older than a suspension.
      if (!isLost()) admissions.lift();
    } else replaced(TAKEN_OVER, "node");
  };
  return { renew, fenceIfPresumedGone };
}

/** The renewal of a node that shares Redis with others. */
async function shareRedis(
  parts: MembershipParts,
  redis: RedisAdmissionStore,
  life: string,
  replaced: OnReplaced,
) {
  const { id, registry, position, admissions, passedMs, log } = parts;
  const epoch = new DatabaseEpoch({ position, redis, admissions });
  const agreement = new RedisAgreement({
    id,
    life,
    records: registry,
    redis,
    admissions: {
      fence: (reason) => admissions.fence(reason),
      fenceApart: (reason) => admissions.fenceApart(reason),
      lift: () => {
        if (!epoch.isForeign) admissions.lift();
      },
      confirmPublications: (confirm) =>
        admissions.confirmPublications((publish) => confirm(() => publishIn(epoch, publish))),
    },
    onFenced: (reason) => {
      if (reason === null) log.info("this node uses the same Redis as the others: it admits requests again");
      else
        log.error(`${reason}: it admits no requests until it is connected to the same Redis as the others`);
    },
  });
  const owner = await registry.redisOwner();
  await requireSharedRedis(parts, redis, agreement, owner);
  await joinEpoch(parts, epoch);
  await redis.claim(owner);
  await agreement.join();
  if (agreement.isUnknown) {
    log.warn("Redis does not allow INFO, so nodes cannot verify that they all use the same server");
  }
  const renew = async () => {
    try {
      if (!(await isInEpoch(epoch, replaced))) return;
    } catch (error) {
      // A Redis that takes no writes may have become a replica. The check finds that out, and connects again.
      if (error instanceof AdmissionStoreUnavailable) await agreement.check();
      throw error;
    }
    await agreement.check();
    if (agreement.isRemoved) replaced(TAKEN_OVER, "node");
    // A Redis that was emptied has also lost the slots of running requests, and the counts of the last minute.
    if (await redis.claim(owner)) redis.restored();
  };
  return { renew, fenceIfPresumedGone: pauseWatch(passedMs, () => agreement.paused()) };
}

/**
 * Returns a function that calls `onPaused` if it was not called for {@link MAX_PAUSE_MS}: a background job calls it every second, so the
 * process was stopped meanwhile, or its machine suspended.
 */
function pauseWatch(passedMs: () => number, onPaused: () => void): () => void {
  let calledMs = passedMs();
  return () => {
    const nowMs = passedMs();
    const isPaused = nowMs - calledMs > MAX_PAUSE_MS;
    calledMs = nowMs;
    if (isPaused) onPaused();
  };
}

/**
 * Waits until nothing keeps a starting node from continuing.
 *
 * @param obstacle is called every {@link PAUSE_MS}, and returns why the node may not continue yet; `null`: it may. `isLastTry`: it is not called again.
 * @throws {StartupFailure} with the last obstacle, after {@link JOIN_TIMEOUT_MS} or when the service stops.
 */
async function waitUntilClear(
  isStopping: () => boolean,
  obstacle: (isLastTry: boolean) => Promise<string | null>,
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    const isLastTry = waitedMs >= JOIN_TIMEOUT_MS;
    const reason = await obstacle(isLastTry);
    if (reason === null) return;
    if (isLastTry || isStopping()) throw new StartupFailure(reason);
    await setTimeout(PAUSE_MS);
  }
}

/**
 * Enters the node in the registry, as soon as no other node excludes it.
 *
 * @throws {StartupFailure} if one still does after {@link JOIN_TIMEOUT_MS}.
 */
async function enterRegistry(
  { registry, redis, isStopping }: MembershipParts,
  node: NodeLife & { readonly label: string },
): Promise<void> {
  const isAlone = redis === null;
  // Nodes with Redis continue without the database, so their age does not tell whether they run.
  const blocksEntry = (other: NodeRow) =>
    other.coordination === "alone" ? other.seenAgoMs < LEASE_MS : isAlone;
  await waitUntilClear(isStopping, async () => {
    const [other] = await registry.enter({ ...node, coordination: isAlone ? "alone" : "redis" }, blocksEntry);
    return other === undefined ? null : blockedBy(other, isAlone);
  });
}

/** Why a node can't start beside another one, for how long, and what to do. */
function blockedBy(other: NodeRow, isAlone: boolean): string {
  const node = `${other.label}, last seen ${durationOf(other.seenAgoMs)} ago`;
  const running = isAlone
    ? `Another node uses the database of DATABASE_URL (${node}). If it is running, stop it. Set REDIS_URL, the same for all nodes, to run several.`
    : `A node without REDIS_URL uses the database of DATABASE_URL (${node}). If it is running, stop it, or give it the same REDIS_URL.`;
  const killed =
    other.coordination === "alone"
      ? `If it was killed, its lease blocks other nodes for another ${durationOf(LEASE_MS - other.seenAgoMs)}: wait, or start on its data folder.`
      : "If it was killed, its entry blocks nodes without REDIS_URL: start it again and stop it.";
  return `${running} ${killed} If you are certain that it no longer runs, start once with OSTIARY_TAKE_OVER=1.`;
}

function durationOf(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/**
 * Requires that the nodes of a database share a Redis, and that no other installation uses the same prefix in it.
 *
 * @throws {StartupFailure} if that is not the case within {@link JOIN_TIMEOUT_MS}.
 */
async function requireSharedRedis(
  { registry, id, isStopping }: MembershipParts,
  redis: RedisAdmissionStore,
  agreement: RedisAgreement,
  owner: string,
): Promise<void> {
  await waitUntilClear(isStopping, async (isLastTry) => {
    const joining = await agreement.mayJoin(isLastTry);
    // `undefined` while Redis reconnects, `null` if it has none.
    const ownerInRedis = await redis.owner(owner).catch(() => undefined);
    if (ownerInRedis !== undefined && ownerInRedis !== null && ownerInRedis !== owner) {
      throw new StartupFailure(
        "The Redis of REDIS_URL is used by the nodes of another database. Set OSTIARY_REDIS_PREFIX to another value for each.",
      );
    }
    // Other nodes restore a lost owner id within a second.
    const isTheirs =
      ownerInRedis === owner || (ownerInRedis === null && !(await registry.hasOtherRunning(id, RUNNING_MS)));
    if (joining === "may join" && isTheirs) return null;
    return notShared(joining, ownerInRedis === undefined);
  });
}

const USED_BY_COPY =
  "The Redis of REDIS_URL is used by the nodes of another copy of this database, such as the one that was backed up. Stop them, or set OSTIARY_REDIS_PREFIX to another value for each copy.";

/**
 * Requires that Redis has the data of this database, and not that of another copy of it, or begins a new epoch.
 *
 * @throws {StartupFailure} if nodes of another copy use Redis, or do not agree on an epoch within {@link JOIN_TIMEOUT_MS}.
 */
async function joinEpoch(
  { registry, id, log, isStopping }: MembershipParts,
  epoch: DatabaseEpoch,
): Promise<void> {
  let hasWarned = false;
  await waitUntilClear(isStopping, async () => {
    const joining = await epoch.mayJoin(() => registry.hasOtherRunning(id, RUNNING_MS));
    if (joining === "joined") return null;
    if (joining === "another copy") throw new StartupFailure(USED_BY_COPY);
    if (!hasWarned)
      log.warn("Redis is ahead of the database, as after a restore: waiting for nodes that use it");
    hasWarned = true;
    return USED_BY_COPY;
  });
}

function notShared(joining: Joining, doesNotAnswer: boolean): string {
  if (joining === "replica") {
    return "The Redis of REDIS_URL is a replica. Set REDIS_URL to the primary.";
  }
  if (joining === "waiting" || (joining === "may join" && doesNotAnswer)) {
    return "The Redis of REDIS_URL does not answer.";
  }
  return "Other nodes use the database of DATABASE_URL with another Redis server, or another part of this one. REDIS_URL and OSTIARY_REDIS_PREFIX must be the same for all nodes; after a failover, REDIS_URL must reach the new primary from every node.";
}
