import { describe, expect, it } from "vitest";
import { MAX_COLOURS } from "../../dashboard-ui/src/components/chart/colours.ts";
import {
  coloursOf,
  commonColour,
  groupsOf,
  NOTHING,
  rankedBy,
  totalsOf,
  type UsageGroup,
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

describe("the groups of a chart", () => {
  it("are the highest by its own figure, and the others are summed up", () => {
    const groups = tenModels();
    expect(idsOf(rankedBy(requests, groups))).toEqual(["m0", "m1", "m2", "m3", "m4", "m5", "rest"]);
    expect(idsOf(rankedBy(cost, groups))).toEqual(["m9", "m8", "m7", "m6", "m5", "m4", "rest"]);
    const rest = rankedBy(errors, groups).at(-1);
    expect(rest).toMatchObject({ isOther: true, total: { errors: 1 + 2 + 3 } });
    expect(rest?.intervals.map(errors)).toEqual([6]);
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
    expect(idsOf(rankedBy(errors, groups))).toEqual(["a", "rest"]);
    expect(idsOf(rankedBy(requests, groups))).toEqual(["b", "a", "rest"]);
  });
});

describe("the colours of charts", () => {
  const charts = [requests, errors, cost].map((read) => rankedBy(read, tenModels()));
  const colours = coloursOf(charts);

  it("differ within each chart", () => {
    for (const [index, chart] of colours.entries()) {
      const used = [...chart.values()];
      expect(new Set(used).size).toBe(used.length);
      expect(used.every((colour) => colour < MAX_COLOURS)).toBe(true);
      expect(used).toHaveLength((charts[index]?.length ?? 0) - 1);
    }
  });

  it("are the same in all charts where that is possible", () => {
    const small = coloursOf([
      rankedBy(requests, tenModels().slice(0, 3)),
      rankedBy(errors, tenModels().slice(0, 3)),
    ]);
    for (const id of ["m0", "m1", "m2"]) expect(commonColour(id, small)).toBeTypeOf("number");
    // These are in all three charts, and chose first.
    for (const id of ["m4", "m5"]) expect(commonColour(id, colours)).toBeTypeOf("number");
    expect(commonColour("nobody", colours)).toBeUndefined();
  });
});
