import { describe, expect, it } from "vitest";
import type { AuditEntry } from "../../dashboard-ui/src/api/types.ts";
import { EntryList } from "../../dashboard-ui/src/pages/audit/entry-list.ts";

const entriesOf = (...names: readonly string[]) =>
  names.map((name) => ({ requestId: name, costNanoUsd: 0n }) as unknown as AuditEntry);

describe("the list of a log's entries", () => {
  // The service ends a search that takes too long with a page of what it has found, which may be nothing.
  const pages = [["a", "b"], [], ["c"], ["d", "e", "f"], [], ["g"]];
  const list = new EntryList(
    entriesOf("new", "newer"),
    pages.map((page) => ({ entries: entriesOf(...page) })),
  );

  it("has the entries of all pages in order, however many each page has", () => {
    const all = Array.from({ length: list.length }, (_, index) => list.at(index)?.requestId);
    expect(all).toEqual(["new", "newer", "a", "b", "c", "d", "e", "f", "g"]);
    expect(list.at(list.length)).toBeUndefined();
    expect(list.at(-1)).toBeUndefined();
  });

  it("finds an entry's place, which new entries above it do not change", () => {
    for (const [place, name] of ["newer", "a", "b", "c", "d", "e", "f", "g"].entries()) {
      expect(list.find(name)).toBe(place - 1);
      expect(list.at(list.indexOf(place - 1))?.requestId).toBe(name);
    }
    expect(list.find("none")).toBeNull();
  });

  it("is empty without entries", () => {
    expect(new EntryList([], []).length).toBe(0);
    expect(new EntryList([], [{ entries: [] }, { entries: [] }]).length).toBe(0);
  });
});
