import { validate, version } from "uuid";
import { describe, expect, it } from "vitest";
import { EntryIds } from "../../server/src/audit/entry-ids.ts";
import { entryIdOf, requestIdOf, timeOfEntry } from "../../server/src/contract/entry.ts";

/** Some ids of a process, with what its clock shows for each. */
function idsAt(clock: readonly number[]) {
  let index = 0;
  const ids = new EntryIds(() => clock[index++] ?? 0);
  return clock.map(() => ids.next());
}

describe("ids of requests", () => {
  const NOW_MS = Date.UTC(2026, 10, 25, 12);

  it("are UUIDs of version 7 with the time of the request", () => {
    for (const atMs of [NOW_MS, 1, 2 ** 48 - 1]) {
      const [id = ""] = idsAt([atMs]);
      expect(validate(id) && version(id)).toBe(7);
      expect(id).toMatch(/^.{8}-.{4}-7.{3}-8.{3}-.{12}$/);
      if (atMs === NOW_MS) expect(timeOfEntry(id as never).getTime()).toBe(NOW_MS);
      else expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(atMs);
    }
  });

  it("ascend within a millisecond, over many, and when the clock is set back", () => {
    const clock = Array.from({ length: 20_000 }, (_, index) => NOW_MS + Math.floor(index / 3_000));
    const all = idsAt([...clock, ...clock, NOW_MS + 60_000]);
    expect(all).toEqual(all.toSorted());
    expect(new Set(all).size).toBe(all.length);
  });

  it("of two processes differ even if their clocks agree", () => {
    const clock = new Array(5_000).fill(NOW_MS);
    expect(new Set([...idsAt(clock), ...idsAt(clock)]).size).toBe(10_000);
  });

  it("ascend when more come in a millisecond than its counter has values", () => {
    const all = idsAt(new Array(20_000).fill(NOW_MS));
    expect(all).toEqual(all.toSorted());
    // They take the next milliseconds: 2,048 to 4,096 each.
    const times = new Set(all.map((id) => id.slice(0, 13)));
    expect(times.size).toBeGreaterThanOrEqual(5);
    expect(times.size).toBeLessThanOrEqual(11);
  });

  it("are what clients see without the dashes, and lead back", () => {
    const [id] = idsAt([NOW_MS]);
    if (id === undefined) throw new Error("no id");
    expect(requestIdOf(id)).toBe(`req_${id.replaceAll("-", "")}`);
    expect(entryIdOf(requestIdOf(id))).toBe(id);
  });
});
