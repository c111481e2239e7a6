import { describe, expect, it } from "vitest";
import type { NodeStatus } from "../../dashboard-ui/src/api/types.ts";
import { problemsOf } from "../../dashboard-ui/src/pages/operator/status/problems.ts";

const NOW = Date.UTC(2026, 2, 3);
const DAY_MS = 24 * 60 * 60_000;

/** A node that has no problem, but for what is given. */
function node(given: Partial<NodeStatus> = {}): NodeStatus {
  return {
    version: "1.0.0",
    runtime: "node",
    nodeId: "n",
    startedAt: new Date(NOW),
    schema: { version: "0001", newer: [] },
    database: {
      isUp: true,
      problem: null,
      pingMs: 1,
      label: "db",
      busyConnections: 0,
      maxConnections: 1,
      waitingStatements: 0,
    },
    redis: null,
    isFenced: false,
    settingDifferences: [],
    unpublishedChanges: 0,
    recorder: { lagMs: 0, waitingEntries: 0, failures: 0 },
    journal: { segments: 1, rejectedLines: 0 },
    clockSkewMs: 0,
    certificateExpiresAt: null,
    breakers: [],
    ...given,
  };
}

describe("the status of a node", () => {
  it("has no problem while all parts work", () => {
    const breakers = [{ upstream: "main", state: "closed" as const, isCredentialRefused: false }];
    expect(problemsOf(node({ breakers, certificateExpiresAt: new Date(NOW + 60 * DAY_MS) }), NOW)).toEqual(
      [],
    );
  });

  it("says what a store refuses", () => {
    const { database } = node();
    const problem = "refuses to write";
    const down = { isUp: false, pingMs: null, problem };
    expect(
      problemsOf(
        node({ database: { ...database, ...down }, redis: { ...down, problem: null, mayEvict: false } }),
        NOW,
      ),
    ).toEqual([
      "PostgreSQL refuses to write: entries wait in the journal.",
      "Redis does not answer: requests are refused.",
    ]);
  });

  it("names the upstreams that are down and those that are recovering", () => {
    const breakers = [
      { upstream: "main", state: "closed" as const, isCredentialRefused: false },
      { upstream: "other", state: "half-open" as const, isCredentialRefused: false },
      { upstream: "third", state: "open" as const, isCredentialRefused: false },
    ];
    expect(problemsOf(node({ breakers }), NOW)).toEqual([
      expect.stringMatching(/^Down: third\./),
      "Recovering: other. The next request tests it.",
    ]);
  });

  it("names the upstreams that reject the service's credential", () => {
    const breakers = [
      { upstream: "main", state: "closed" as const, isCredentialRefused: true },
      { upstream: "other", state: "closed" as const, isCredentialRefused: false },
    ];
    expect(problemsOf(node({ breakers }), NOW)).toEqual([
      expect.stringMatching(/^Credential rejected by main\. Check /),
    ]);
  });

  it("names a setting that other nodes have otherwise once that has lasted", () => {
    const difference = { setting: "prices" as const, nodes: ["other"], since: new Date(NOW) };
    const problemsWith = (isLasting: boolean) =>
      problemsOf(node({ settingDifferences: [{ ...difference, isLasting }] }), NOW);
    expect(problemsWith(false)).toEqual([]);
    expect(problemsWith(true)).toEqual([expect.stringContaining("other prices than this node")]);
  });

  it("warns of a certificate that has expired or will soon", () => {
    const problemsAt = (days: number) =>
      problemsOf(node({ certificateExpiresAt: new Date(NOW + days * DAY_MS) }), NOW);
    expect(problemsAt(-1)).toEqual([expect.stringContaining("has expired")]);
    expect(problemsAt(3)).toEqual([expect.stringContaining("expires in less than 14 days")]);
  });
});
