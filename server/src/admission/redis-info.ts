/** Which Redis a connection leads to. Two connections share what it holds exactly if they lead to the same run. */
export interface RedisServer {
  /** Of one life of a process: neither a replica nor the same server after a restart has it. */
  readonly runId: string;
  /** Changes when a replica is promoted, though its process goes on: tells the times apart in which it was a primary. */
  readonly replicationId: string;
  /** A replica refuses the scripts. */
  readonly isReplica: boolean;
}

/** What Redis does when its memory is full. */
export interface RedisMemory {
  readonly policy: string;
  /** Whether it may drop what it holds before its time. */
  readonly mayEvict: boolean;
}

/** The fields of an answer to `INFO`. */
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
