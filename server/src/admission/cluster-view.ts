/// <reference path="./cluster-key-slot.d.ts" />
import hashSlotOf from "cluster-key-slot";
import type { RedisHost } from "../config/redis-url.ts";

export { hashSlotOf };

/** The number of hash slots into which Redis Cluster divides keys. */
export const HASH_SLOTS = 16_384;

/** What one server of a cluster knows about it. */
export interface ClusterView {
  /** Redis Cluster's own epoch: the views of servers that have heard of a later failover or move have higher numbers. */
  readonly epoch: number;
  /** Hash slots from `first` to `last`, and the server that has their keys. */
  readonly ranges: readonly { readonly first: number; readonly last: number; readonly primary: RedisHost }[];
  /** All servers, replicas too. */
  readonly servers: readonly RedisHost[];
}

export function addressOf({ host, port }: RedisHost): string {
  return `${host}:${port}`;
}

/**
 * Reads the answers to `CLUSTER INFO` and `CLUSTER SLOTS`.
 *
 * @param asked the server that answered, which need not know its own address.
 * @returns `null` when no server has any keys.
 */
export function clusterViewOf(info: string, slots: unknown, asked: RedisHost): ClusterView | null {
  const epoch = Number(/^cluster_current_epoch:(\d+)/m.exec(info)?.[1] ?? 0);
  const rows = Array.isArray(slots) ? slots : [];
  const ranges = rows.flatMap((row) => {
    const [first, last, primary, ...replicas] = row as [number, number, ...unknown[]];
    const servers = [primary, ...replicas].map((server) => hostOf(server, asked));
    const [owner] = servers;
    if (owner === undefined || owner === null) return [];
    return [{ first: Number(first), last: Number(last), primary: owner, servers }];
  });
  if (ranges.length === 0) return null;
  const servers = ranges.flatMap((range) => range.servers).filter((server) => server !== null);
  return { epoch, ranges, servers: distinct(servers) };
}

/** An empty host means the one that was asked; `?` one that is not known. */
function hostOf(server: unknown, asked: RedisHost): RedisHost | null {
  if (!Array.isArray(server)) return null;
  const [host, port] = server as [string | null, number];
  return host === "?" ? null : { host: host || asked.host, port: Number(port) };
}

export function distinct(hosts: readonly RedisHost[]): readonly RedisHost[] {
  return [...new Map(hosts.map((host) => [addressOf(host), host])).values()];
}

/** Returns the view of the server that has heard of the latest change. */
export function newestView(views: readonly ClusterView[]): ClusterView | null {
  return views.reduce<ClusterView | null>(
    (newest, view) => (newest === null || view.epoch > newest.epoch ? view : newest),
    null,
  );
}

/** Returns a hash tag, the part of a key by which a cluster chooses the slot, for which `has` is true. */
export function hashTagFor(has: (slot: number) => boolean): string | null {
  // A hundred names for each slot: even a server with one slot finds its own.
  for (let number = 0; number < 100 * HASH_SLOTS; number++) {
    if (has(hashSlotOf(String(number)))) return String(number);
  }
  return null;
}
