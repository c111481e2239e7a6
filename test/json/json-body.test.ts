import { describe, expect, it } from "vitest";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { scanObject } from "../../server/src/json/json-text.ts";

function bodyOf(text: string): JsonBody {
  const body = JsonBody.parse(text);
  if (body === null) throw new Error(`no object: ${text}`);
  return body;
}

describe("a JSON object that is passed on", () => {
  it("changes only where it is edited", () => {
    const text =
      ' { "a" : 1.50, "model": "x\\"}", "big":12345678901234567890, "o":{"model":"in,ner"},"l":[ 1, {"b":"]"} ] } ';
    const body = bodyOf(text);
    expect(body.textWith({})).toBe(text);
    expect(body.textWith({ model: "y" })).toBe(text.replace('"x\\"}"', '"y"'));
    expect(body.textWith({ more: [1] })).toBe(text.replace("] } ", '] ,"more":[1]} '));
    expect(JSON.parse(body.textWith({ a: undefined, model: undefined, l: undefined }))).toEqual({
      big: expect.any(Number),
      o: { model: "in,ner" },
    });
    expect(body.textWith({ model: "y", a: undefined })).toContain("12345678901234567890");
  });

  it("stays valid after any removal, insertion or replacement", () => {
    const names = ["a", "b", "c", "d"];
    const values = ["1", '"t,x"', "{}", "[1,[2]]", '{"a":{"b":"}"}}', "null", "-1.5e3", '"\\\\"'];
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (let round = 0; round < 3_000; round++) {
      const members = names
        .filter(() => random(2) === 0)
        .map((name) => `"${name}":${random(2) === 0 ? " " : ""}${values[random(values.length)]}`);
      const text = `{${members.join(random(2) === 0 ? " , " : ",")}}`;
      const changes: Record<string, string | undefined> = {};
      for (const name of [...names, "e"]) {
        const what = random(3);
        if (what === 0) changes[name] = undefined;
        else if (what === 1) changes[name] = "new";
      }
      const expected = { ...JSON.parse(text), ...changes };
      for (const name of Object.keys(expected)) if (expected[name] === undefined) delete expected[name];
      const at = `${text} ${JSON.stringify(changes)}`;
      expect(JSON.parse(bodyOf(text).textWith(changes)), at).toEqual(expected);
      // A changed body is not parsed again, and is what parsing its text would give.
      const [changed, parsed] = [bodyOf(text).with(changes), bodyOf(bodyOf(text).textWith(changes))];
      expect([changed.text, changed.value, changed.members], at).toEqual([
        parsed.text,
        parsed.value,
        parsed.members,
      ]);
      expect(changed.textWith({ last: 1 }), at).toBe(parsed.textWith({ last: 1 }));
    }
  });

  it("keeps arrays of numbers as they are, nested, empty and beside other values", () => {
    const lists = [
      "[0.1,-2E+3, 4 ]",
      "[]",
      "[[1,2],[-3.5]]",
      '[1,"]",{"n":[2]},3]',
      "[true,1,null]",
      "[ [ ] ,1]",
    ];
    const text = `{${lists.map((list, index) => `"l${index}":${list}`).join(",")},"model":"x"}`;
    expect(bodyOf(text).textWith({ model: "y" })).toBe(text.replace('"x"', '"y"'));
    for (const [index, list] of lists.entries()) {
      const member = bodyOf(text).members[index];
      expect(text.slice(member?.valueStart, member?.valueEnd)).toBe(list);
    }
    for (const broken of ['{"l":[1,2', '{"l":[1,,2]}', '{"l":[1e]}', '{"l":[1}']) {
      expect(JsonBody.parse(broken), broken).toBeNull();
    }
  });

  it("has its fields found however their names are escaped, and duplicates are detected", () => {
    expect(JSON.parse(bodyOf('{"mo\\u0064el":1}').textWith({ model: 2 }))).toEqual({ model: 2 });
    expect(bodyOf('{"a":1,"\\u0061":2}').doubledName).toBe("a");
    expect(bodyOf('{"a":{"b":1,"b":2}}').doubledName).toBeNull();
    expect(JsonBody.parse("[1]")).toBeNull();
    expect(JsonBody.parse('{"a":1}}')).toBeNull();
  });

  it("is not parsed beyond the maximum depth", () => {
    const limits = { depth: 4, values: 10, containers: 6, names: 5, strings: 12, numerals: 2, members: 4 };
    expect(scanObject('{"a":[[["]]]]"]]]}', limits).kind).toBe("object");
    expect(scanObject('{"a":[[[[1]]]]}', limits).kind).toBe("too-deep");
    expect(scanObject(`{"a":[${"1,".repeat(10)}1]}`, limits).kind).toBe("object");
    expect(scanObject(`{"a":[${"1,".repeat(11)}1]}`, limits)).toEqual({ kind: "too-many", of: "values" });
    expect(scanObject('{"a":[[],[],[],[]]}', limits).kind).toBe("object");
    expect(scanObject('{"a":[[],[],[],[],{}]}', limits)).toEqual({ kind: "too-many", of: "containers" });
    expect(scanObject('{"a":{"b":1,"c":2,"d":3,"e:":4}}', limits).kind).toBe("object");
    const names = '{"a":{"b":1,"c":2,"d":3,"e":4},"f":5}';
    expect(scanObject(names, limits)).toEqual({ kind: "too-many", of: "names" });
    expect(scanObject('{"a":["12345","67890","1234","012345","1234567890123"],"54321":0}', limits).kind).toBe(
      "object",
    );
    const numerals = '{"a":["12345","67890","\\u003112345"]}';
    expect(scanObject(numerals, limits)).toEqual({ kind: "too-many", of: "numerals" });
    const members = '{"a":1,"b":2,"c":3,"d":4,"e":5}';
    expect(scanObject(members, limits)).toEqual({ kind: "too-many", of: "members" });
  });
});
