import { describe, expect, it, vi } from "vitest";
import { BODY_LIMITS, BoundedParser } from "../../server/src/json/bounded-parser.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";

const LIMITS = { ...BODY_LIMITS, depth: 4, values: 10, containers: 6, names: 6 };

describe("texts that are parsed together", () => {
  it.each([
    ["values", "[1,2,3,4,5]", 2],
    ["containers", "[{}]", 2],
    ["names", '[{"a":1,"b:":2}]', 2],
  ])("hold no more %s than one may", async (_, text, fitting) => {
    const parser = new BoundedParser(LIMITS);
    for (let index = 0; index < fitting; index++) expect(await parser.parse(text)).toEqual(JSON.parse(text));
    expect(await parser.parse(text)).toBeUndefined();
  });

  it("are each nested as deeply as one may be", async () => {
    const parser = new BoundedParser(LIMITS);
    expect(await parser.parse("[[[]]]")).toEqual([[[]]]);
    expect(await parser.parse("[[[[]]]]")).toBeUndefined();
  });

  it("are not parsed beyond the limits", async () => {
    const parsing = vi.spyOn(JSON, "parse");
    try {
      const parser = new BoundedParser(LIMITS);
      parser.count("[{},{},{}]");
      expect(await parser.parse('["not parsed", {}]')).toBeUndefined();
      expect(parsing).not.toHaveBeenCalled();
      // Changing a body parses nothing again.
      const body = JsonBody.parse('{"input":[]}');
      parsing.mockClear();
      expect(body?.with({ input: [1, 2] }).value).toEqual({ input: [1, 2] });
      expect(parsing).not.toHaveBeenCalled();
    } finally {
      parsing.mockRestore();
    }
  });

  it("leave turns to other work", async () => {
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const parser = new BoundedParser();
    const text = JSON.stringify(["x".repeat(100_000)]);
    for (let index = 0; index < 30; index++) await parser.parse(text);
    isOver = true;
    expect(turns).toBeGreaterThanOrEqual(9);
  });
});
