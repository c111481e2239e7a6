import type { Gateway } from "../gateway/gateway.ts";
import type { NodeStatus } from "../management/node-status.ts";
import type { OpenAccess } from "./open-access.ts";
import type { OpenNode } from "./open-node.ts";
import type { OpenRecords } from "./open-records.ts";
import { RUNTIME } from "./runtime.ts";
import type { Startup } from "./startup.ts";
import type { StoreAnswer } from "./store-probe.ts";

export interface StatusParts {
  readonly node: OpenNode;
  readonly records: OpenRecords;
  readonly access: OpenAccess;
  readonly gateway: Gateway;
  /** When the certificate in use expires; `null` without TLS. */
  readonly certificateExpiresAt: () => Date | null;
}

const UNKNOWN: StoreAnswer = { isUp: false, ms: null };

/** Returns the function that describes the node to operators. */
export function statusOfNode({ version, now }: Startup, parts: StatusParts): () => NodeStatus {
  const { node, records, access, gateway, certificateExpiresAt } = parts;
  const startedAt = now();
  return () => {
    const { entries, oldestMs, failures, segments } = records.recorder.backlog();
    return {
      version,
      runtime: RUNTIME,
      nodeId: node.id,
      startedAt,
      schema: node.schema,
      database: databaseOf(node),
      redis: redisOf(node),
      isFenced: node.admissions.isFenced,
      recorder: { waitingEntries: entries, lagMs: oldestMs, failures },
      journal: { segments, rejectedLines: records.journal.rejectedLines() },
      unpublishedChanges: access.publisher.waiting,
      clockSkewMs: node.clocks.skewMs,
      certificateExpiresAt: certificateExpiresAt(),
      breakers: gateway.health().map(({ name, breaker }) => ({ upstream: name, state: breaker })),
    };
  };
}

function databaseOf({ label, probes, poolUses }: OpenNode): NodeStatus["database"] {
  const { isUp, ms } = probes.database.last ?? UNKNOWN;
  const uses = [...poolUses().values()];
  const sum = (of: (use: (typeof uses)[number]) => number) => uses.reduce((total, use) => total + of(use), 0);
  return {
    label,
    isUp,
    pingMs: ms,
    busyConnections: sum(({ busy }) => busy),
    maxConnections: sum(({ max }) => max),
    waitingStatements: sum(({ waiting }) => waiting),
  };
}

function redisOf({ probes, redisMemory }: OpenNode): NodeStatus["redis"] {
  if (probes.redis === null) return null;
  const { isUp, ms } = probes.redis.last ?? UNKNOWN;
  return { isUp, pingMs: ms, mayEvict: redisMemory?.mayEvict() ?? null };
}
