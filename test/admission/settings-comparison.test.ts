import { describe, expect, it } from "vitest";
import { SettingsComparison } from "../../server/src/admission/settings-comparison.ts";
import type { NodeSettings, SettingDigests } from "../../server/src/contract/node-settings.ts";

const MINUTE_MS = 60_000;
const DIGESTS: SettingDigests = { plans: "1", catalog: "2", prices: "3", responses: "4" };

/** A node of version 2.0.0 beside others, whose clock the test moves. */
function nodeBeside(others: () => readonly NodeSettings[]) {
  const clock = { ms: 0 };
  const reports: unknown[] = [];
  const comparison = new SettingsComparison({
    own: () => ({ nodeId: "own", label: "own", version: "2.0.0", digests: DIGESTS }),
    exchange: async () => others(),
    now: () => new Date(clock.ms),
    monotonicMs: () => clock.ms,
    onLasting: (setting, nodes) => reports.push([setting, nodes]),
  });
  const compareAt = async (minute: number) => {
    clock.ms = minute * MINUTE_MS;
    return comparison.compare();
  };
  return { comparison, reports, compareAt };
}

function other(digests: Partial<SettingDigests> | null, version: string | null = "2.0.0"): NodeSettings {
  const complete = digests === null ? null : { ...DIGESTS, ...digests };
  return { nodeId: "other", label: "other", version, digests: complete };
}

describe("settings that differ between nodes", () => {
  it("are reported once when they have differed for 10 minutes, and once when they agree again", async () => {
    let nodes = [other({ plans: "other" })];
    const { comparison, reports, compareAt } = nodeBeside(() => nodes);
    await compareAt(1);
    expect(comparison.differences).toEqual([
      { setting: "plans", nodes: ["other"], since: new Date(MINUTE_MS), isLasting: false },
    ]);
    await compareAt(10);
    expect(reports).toEqual([]);
    await compareAt(11);
    await compareAt(12);
    expect(reports).toEqual([["plans", ["other"]]]);
    expect(comparison.differences).toMatchObject([{ since: new Date(MINUTE_MS), isLasting: true }]);
    expect(comparison.counts.get("plans")).toBe(1);
    nodes = [other({})];
    await compareAt(13);
    await compareAt(14);
    expect(reports).toEqual([
      ["plans", ["other"]],
      ["plans", null],
    ]);
    expect(comparison.differences).toEqual([]);
  });

  it("are not reported of a change that reaches one node after the other", async () => {
    let nodes = [other({ catalog: "new", prices: "new" })];
    const { reports, compareAt } = nodeBeside(() => nodes);
    await compareAt(0);
    nodes = [other({})];
    await compareAt(9);
    nodes = [other({ catalog: "newer" })];
    await compareAt(12);
    await compareAt(21);
    expect(reports).toEqual([]);
  });

  it("are unknown of nodes of another version", async () => {
    const { comparison, compareAt } = nodeBeside(() => [
      other({ plans: "other" }, "1.0.0"),
      other(null, null),
    ]);
    expect(await compareAt(0)).toHaveLength(3);
    expect(comparison.differences).toEqual([]);
  });
});
