import { createHash } from "node:crypto";

/** The identity of a Redis server. Two connections share their data exactly if they reach the same run. */
export interface RedisServer {
  /** Identifies one run of a process. A replica, and the same server after a restart, have another one. */
  readonly runId: string;
  /** Changes when a replica is promoted, although its process continues. `""` for a server that was not promoted. */
  readonly promotionId: string;
  /** A replica refuses the scripts. */
  readonly isReplica: boolean;
}

/** How Redis behaves when its memory is full. */
export interface RedisMemory {
  readonly policy: string;
  /** Whether Redis may delete keys before they expire. */
  readonly mayEvict: boolean;
}

function fieldsOf(info: string): ReadonlyMap<string, string> {
  const pairs = info.split("\r\n").map((line) => line.split(/:(.*)/, 2));
  return new Map(
    pairs.flatMap(([name = "", value]) => (value === undefined ? [] : [[name, value] as const])),
  );
}

/** The second replication id of a server that was never promoted. */
const NO_REPLICATION_ID = "0".repeat(40);

/**
 * A promoted replica gets a new replication id and keeps its former one as the second. A primary also gets a new id, and no second one,
 * with its first replica, or with the first after an hour without any. It is the same server then.
 */
function promotionIdOf(fields: ReadonlyMap<string, string>): string {
  return fields.get("master_replid2") === NO_REPLICATION_ID ? "" : (fields.get("master_replid") ?? "");
}

/** Reads the sections `server` and `replication`. @returns `null` when they do not say which server it is. */
export function serverOf(info: string): RedisServer | null {
  const fields = fieldsOf(info);
  const runId = fields.get("run_id") ?? "";
  if (runId === "") return null;
  return {
    runId,
    promotionId: promotionIdOf(fields),
    isReplica: fields.get("role") === "slave",
  };
}

/** Reads the section `server`. @returns whether the server is a part of a cluster. */
export function isClusterServer(info: string): boolean {
  return fieldsOf(info).get("redis_mode") === "cluster";
}

/**
 * Identifies servers that have the keys together, such as the primaries of a cluster. Two nodes whose servers have the same
 * identity share all data. A failover of any of them changes it.
 */
export function combinedServer(servers: readonly RedisServer[]): RedisServer | null {
  const [first, ...others] = servers;
  if (first === undefined || others.length === 0) return first ?? null;
  const digestOf = (ids: readonly string[]) =>
    createHash("sha256").update(ids.toSorted().join(" ")).digest("hex");
  return {
    runId: digestOf(servers.map(({ runId }) => runId)),
    promotionId: servers.every(({ promotionId }) => promotionId === "")
      ? ""
      : digestOf(servers.map(({ promotionId }) => promotionId)),
    isReplica: servers.some(({ isReplica }) => isReplica),
  };
}

/** Reads the section `memory`. @returns `null` when it does not say. */
export function memoryOf(info: string): RedisMemory | null {
  const fields = fieldsOf(info);
  const policy = fields.get("maxmemory_policy");
  if (policy === undefined) return null;
  return { policy, mayEvict: policy !== "noeviction" && Number(fields.get("maxmemory") ?? 0) > 0 };
}
