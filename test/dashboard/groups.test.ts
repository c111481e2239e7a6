import { describe, expect, it } from "vitest";
import { MAX_COLOURS } from "../../dashboard-ui/src/components/chart/colours.ts";
import {
  groupsOf,
  NOTHING,
  placesOf,
  rankedBy,
  totalsOf,
  type UsageGroup,
  withOwnLabels,
} from "../../dashboard-ui/src/pages/usage/groups.ts";
import { TOKEN_KINDS } from "../../dashboard-ui/src/pages/usage/measures.ts";

const START = new Date("2026-03-03T00:00:00Z");
const NEXT = new Date("2026-03-04T00:00:00Z");
const cost = ({ costNanoUsd }: UsageGroup["total"]) => Number(costNanoUsd);
const errors = (total: UsageGroup["total"]) => total.errors;
const requests = (total: UsageGroup["total"]) => total.requests;

const rowOf = (id: string, totals: Partial<typeof NOTHING>, start = START) => ({
  ...NOTHING,
  ...totals,
  start,
  group: { id, label: id },
});

/** Ten models: the first has most requests; the last costs most and fails most. */
function tenModels(): readonly UsageGroup[] {
  const rows = Array.from({ length: 10 }, (_, index) =>
    rowOf(`m${index}`, { requests: 100 - index, errors: index, costNanoUsd: BigInt(index) }),
  );
  return groupsOf(rows, [START]);
}

const idsOf = (groups: readonly UsageGroup[]) => groups.map(({ id }) => id);

describe("accounts of the same name", () => {
  it("are told apart by the end of their IDs", () => {
    const named = (id: string, label: string) => ({ ...rowOf(id, { requests: 1 }), group: { id, label } });
    const groups = groupsOf(
      [named("1-aaaaaa", "Acme"), named("2-bbbbbb", "Acme"), named("3-cccccc", "Other")],
      [START],
    );
    expect(withOwnLabels(groups).map(({ label }) => label)).toEqual([
      "Acme (ID …aaaaaa)",
      "Acme (ID …bbbbbb)",
      "Other",
    ]);
  });
});

describe("the kinds of tokens", () => {
  it("add up to all tokens of an interval", () => {
    const figures = { promptTokens: 10, cachedTokens: 4, completionTokens: 3 };
    const groups = groupsOf([rowOf("a", figures), rowOf("b", figures)], [START, NEXT]);
    expect(
      totalsOf(groups, 2).map((totals) => TOKEN_KINDS.map(({ name, read }) => `${name} ${read(totals)}`)),
    ).toEqual([
      ["Input 12", "Cached input 8", "Output 6"],
      ["Input 0", "Cached input 0", "Output 0"],
    ]);
  });
});

describe("groups of usage", () => {
  it("have a value for each interval, and come by number of requests", () => {
    const rows = [
      rowOf("a", { requests: 1 }),
      rowOf("b", { requests: 2 }, NEXT),
      rowOf("b", { requests: 3 }, NEXT),
    ];
    const groups = groupsOf(rows, [START, NEXT]);
    expect(groups.map(({ id, intervals }) => [id, intervals.map(requests)])).toEqual([
      ["b", [0, 5]],
      ["a", [1, 0]],
    ]);
  });
});

const READS = [requests, errors, cost];

describe("the places of groups", () => {
  it("are one per group in all charts, as many as there are colours", () => {
    const groups = tenModels();
    const places = placesOf(READS, groups);
    expect([...places.values()]).toEqual(Array.from({ length: MAX_COLOURS }, (_, place) => place));
    for (const read of READS) {
      const own = rankedBy(read, groups, places).filter(({ isOther }) => isOther !== true);
      expect(own.length).toBeGreaterThan(0);
      for (const { id } of own) expect(places.has(id), id).toBe(true);
    }
  });

  it("are given to the highest by any figure, and never to the rest of the answer", () => {
    const groups = groupsOf(
      [
        ...Array.from({ length: 8 }, (_, index) => rowOf(`m${index}`, { requests: 100 - index })),
        rowOf("costly", { requests: 1, costNanoUsd: 9n }),
        rowOf("failing", { requests: 2, errors: 2 }),
        { ...rowOf("rest", { requests: 999 }), group: { id: "rest", label: "All others", isOther: true } },
      ],
      [START],
    );
    expect([...placesOf(READS, groups).keys()]).toEqual(["m0", "m1", "m2", "m3", "failing", "costly"]);
  });
});

describe("the groups of a chart", () => {
  it("come by its own figure, and those without a place are summed up", () => {
    const groups = tenModels();
    const places = new Map([0, 5, 6, 7, 8, 9].map((model, place) => [`m${model}`, place]));
    expect(idsOf(rankedBy(requests, groups, places))).toEqual(["m0", "m5", "m6", "m7", "m8", "m9", "rest"]);
    const failed = rankedBy(errors, groups, places);
    expect(idsOf(failed)).toEqual(["m9", "m8", "m7", "m6", "m5", "rest"]);
    expect(failed.at(-1)).toMatchObject({ isOther: true, total: { errors: 1 + 2 + 3 + 4 } });
    expect(failed.at(-1)?.intervals.map(errors)).toEqual([10]);
  });

  it("leave out groups without any of it, and keep the rest of the answer last", () => {
    const groups = groupsOf(
      [
        rowOf("a", { requests: 1, errors: 1 }),
        rowOf("b", { requests: 5 }),
        {
          ...rowOf("rest", { requests: 9, errors: 9 }),
          group: { id: "rest", label: "All others", isOther: true },
        },
      ],
      [START],
    );
    const places = placesOf(READS, groups);
    expect(idsOf(rankedBy(errors, groups, places))).toEqual(["a", "rest"]);
    expect(idsOf(rankedBy(requests, groups, places))).toEqual(["b", "a", "rest"]);
  });
});
