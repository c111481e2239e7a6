import type { SettingDifference } from "../contract/node-settings.ts";

/** The state of the node that answers. Every node answers for itself. */
export interface NodeStatus {
  /** The version of the service. */
  readonly version: string;
  /** The runtime and its version, such as `node 20.19.0`. */
  readonly runtime: string;
  /** The id of the node, which it keeps in its data folder. */
  readonly nodeId: string;
  /** When the node was started. */
  readonly startedAt: Date;
  /** The schema of the database when the node was started. */
  readonly schema: {
    /** The number of its newest migration, such as `0018`. */
    readonly version: string | null;
    /** Migrations of a newer version of the service, with which this one works. Empty: none. */
    readonly newer: readonly string[];
  };
  /** PostgreSQL. */
  readonly database: {
    /** Which one it is: host and name, or the folder of the bundled one. */
    readonly label: string;
    /** Whether it answered when it was last asked, at most 5 seconds ago, and accepts writes. */
    readonly isUp: boolean;
    /** What it does instead, such as `refuses to write` or `does not answer`; `null`: it answers. */
    readonly problem: string | null;
    /** The time in which it answered, in milliseconds; `null`: it did not. */
    readonly pingMs: number | null;
    /** Open connections on which a statement or transaction runs. */
    readonly busyConnections: number;
    /** The maximum number of connections that the node opens for statements. */
    readonly maxConnections: number;
    /** Statements that wait for a connection. */
    readonly waitingStatements: number;
  };
  /** Redis; `null`: the node runs without it. */
  readonly redis: {
    /** Whether it answered when it was last asked, at most 5 seconds ago, and accepts writes. */
    readonly isUp: boolean;
    /** What it does instead, such as `refuses to write` or `does not answer`; `null`: it answers. */
    readonly problem: string | null;
    /** The time in which it answered, in milliseconds; `null`: it did not. */
    readonly pingMs: number | null;
    /** Whether it may evict keys, which lifts rate limits; `null`: it does not say. */
    readonly mayEvict: boolean | null;
  } | null;
  /** Whether the node admits no requests because it uses another Redis server than the other nodes. */
  readonly isFenced: boolean;
  /** Settings that other running nodes have with other values than this node. */
  readonly settingDifferences: readonly SettingDifference[];
  /** Audit entries on their way to the database. */
  readonly recorder: {
    /** Entries in the journal that are not in the database yet. */
    readonly waitingEntries: number;
    /** The age of the oldest of them, in milliseconds. */
    readonly lagMs: number;
    /** Failed inserts of batches since the start. */
    readonly failures: number;
  };
  /** The journal of the node. */
  readonly journal: {
    /** Files that are still needed. */
    readonly segments: number;
    /** Lines that could not be read or recorded, and that an operator must replay or discard. */
    readonly rejectedLines: number;
  };
  /** Changes of all nodes, such as revocations, that are committed but not in force on every node. */
  readonly unpublishedChanges: number;
  /** The clock of the node minus that of the database, in milliseconds; `null`: not compared yet. */
  readonly clockSkewMs: number | null;
  /** When the TLS certificate in use expires; `null`: the node speaks HTTP. */
  readonly certificateExpiresAt: Date | null;
  /** The breaker of each upstream of the catalog. */
  readonly breakers: readonly {
    /** The name of the upstream in the catalog. */
    readonly upstream: string;
    /** `closed`: healthy; `open`: no requests are sent; `half-open`: one request tests the upstream. */
    readonly state: "closed" | "half-open" | "open";
    /** Whether it has rejected the service's credential since it last answered. */
    readonly isCredentialRefused: boolean;
  }[];
}
