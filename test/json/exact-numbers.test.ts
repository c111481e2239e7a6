import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exactJson, mayHaveLongNumber, parseExact } from "../../server/src/json/exact-numbers.ts";

/** JSON texts without white space, with numbers of any length, and with texts that are hard to find the end of. */
const digits = fc.stringMatching(/^[1-9][0-9]{0,30}$/);
const number = fc.oneof(
  digits,
  digits.map((text) => `-${text}`),
  fc
    .tuple(fc.constantFrom("0", "1", "-3"), fc.stringMatching(/^[0-9]{0,25}[1-9]$/))
    .map((two) => two.join(".")),
  // Neither part of such a number is long, and a large exponent is more than JavaScript can hold.
  fc
    .tuple(fc.stringMatching(/^[1-9][0-9]{7,11}$/), fc.stringMatching(/^[0-9]{7,11}[1-9]$/))
    .map((two) => two.join(".")),
  fc
    .tuple(fc.constantFrom("1", "-2.5", "12345678"), fc.constantFrom("e", "E-", "e+"), fc.nat({ max: 899 }))
    .map(([digits, exponent, power]) => `${digits}${exponent}${power + 100}`),
);
const text = fc
  .array(fc.constantFrom("a", '"', "\\", "1234567890123456789", "\u{e000}", "\ud83d", ":", "\n"), {
    maxLength: 8,
  })
  .map((pieces) => JSON.stringify(pieces.join("")));
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    number,
    text,
    fc.constantFrom("null", "true", "{}"),
    fc.array(tie("value"), { maxLength: 4 }).map((all) => `[${all.join(",")}]`),
    fc.array(tie("value"), { maxLength: 4 }).map((all) => objectOf(all)),
  ),
}));

function objectOf(values: readonly string[]): string {
  return `{${values.map((one, index) => `"k\\"${index}":${one}`).join(",")}}`;
}

describe("an object that is parsed exactly", () => {
  it("is written as it was", () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
        const json = objectOf(values);
        const parsed = parseExact(json);
        expect(exactJson(JSON.stringify(parsed))).toBe(json);
      }),
    );
  });

  it("is what others read of it, but for what JavaScript can't hold", () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
        const json = objectOf(values);
        expect(JSON.parse(exactJson(JSON.stringify(parseExact(json))))).toEqual(JSON.parse(json));
      }),
    );
  });

  it("is no object if the ordinary parser finds none", () => {
    for (const json of [
      "[1234567890123456789]",
      '{"a":1234567890123456789',
      "1234567890123456789",
      '{"a":"\\',
    ])
      expect(parseExact(json)).toBeNull();
    for (const wrong of [
      "-",
      "01234567890123456",
      "1234567890123456.",
      "1234567890123456e",
      "+1234567890123456",
    ])
      expect(parseExact(`{"a":${wrong}}`)).toBeNull();
  });

  it("is parsed as usual if it has no long number, which is what most have", () => {
    expect(mayHaveLongNumber('{"a":1.5,"b":123456789012345}')).toBe(false);
    expect(parseExact('{"a":9007199254740992,"b":1000000000000000000}')).toEqual({
      a: 9_007_199_254_740_992,
      b: 1_000_000_000_000_000_000,
    });
  });
});
