import type { AccountId } from "../../../server/src/contract/account.ts";
import type { SimulatedDatabase } from "../stores/database.ts";
import type { SimulatedRedis } from "../stores/redis.ts";
import type { Clients } from "./clients.ts";
import type { SimulatedNode } from "./node.ts";

/** Where something may be left after a run. */
export interface Places {
  readonly clients: Pick<Clients, "waiting">;
  readonly nodes: readonly SimulatedNode[];
  readonly database: SimulatedDatabase;
  readonly redis: SimulatedRedis;
  readonly accounts: readonly AccountId[];
}

/** What has not come to its end; `null`: nothing. */
export function whatIsLeft({ clients, nodes, database, redis, accounts }: Places): string | null {
  if (clients.waiting > 0) return `${clients.waiting} requests have no answer`;
  for (const { name, service } of nodes) {
    if (service === null) return `${name} is down`;
    const { holds } = service.credits.outstanding();
    if (holds > 0) return `${name} holds credit for ${holds} requests`;
    const { entries, segments } = service.recorder.backlog();
    if (entries > 0) return `${entries} entries of ${name} are not in the database`;
    // One of them is open.
    if (segments > 1) return `the journal of ${name} still has ${segments} segments`;
    const { inFlight } = service.requests;
    if (inFlight > 0) return `${name} still works on ${inFlight} requests`;
  }
  const { idempotency, credit, keys } = database;
  if (idempotency.running > 0) return `${idempotency.running} idempotency keys are claimed`;
  if (keys.unpublished > 0) return `${keys.unpublished} changes are not published`;
  for (const id of accounts) {
    const reserved = credit.reservedOf(id);
    if (reserved !== 0n) return `${reserved} is set aside of ${id}`;
    const { concurrent } = redis.useOf(id);
    if (concurrent > 0) return `${concurrent} slots of ${id} are taken`;
  }
  return null;
}
