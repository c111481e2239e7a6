/** The identity of a Redis server. Two connections share their data exactly if they reach the same run. */
export interface RedisServer {
  /** Identifies one run of a process. A replica, and the same server after a restart, have another one. */
  readonly runId: string;
  /** Changes when a replica is promoted, although its process continues. */
  readonly replicationId: string;
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

/** Reads the sections `server` and `replication`. @returns `null` when they do not say which server it is. */
export function serverOf(info: string): RedisServer | null {
  const fields = fieldsOf(info);
  const runId = fields.get("run_id") ?? "";
  if (runId === "") return null;
  return {
    runId,
    replicationId: fields.get("master_replid") ?? "",
    isReplica: fields.get("role") === "slave",
  };
}

/** Reads the section `memory`. @returns `null` when it does not say. */
export function memoryOf(info: string): RedisMemory | null {
  const fields = fieldsOf(info);
  const policy = fields.get("maxmemory_policy");
  if (policy === undefined) return null;
  return { policy, mayEvict: policy !== "noeviction" && Number(fields.get("maxmemory") ?? 0) > 0 };
}
