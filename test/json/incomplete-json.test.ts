import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCutOff } from "../../server/src/json/incomplete-json.ts";

const object = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary" }));
/** The same object, written with escapes and white space. */
const written = fc
  .tuple(object, fc.constantFrom(0, 1, "\t"), fc.boolean())
  .map(([value, space, isEscaped]) => {
    const json = JSON.stringify(value, null, space);
    return isEscaped ? json.replace(/[\u0080-\uffff]/g, escaped) : json;
  });

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

describe("the input of a call that was cut off", () => {
  it("is told from a whole one at every position", () => {
    fc.assert(
      fc.property(written, fc.nat(), (json, position) => {
        expect(isCutOff(json)).toBe(false);
        const beginning = json.slice(0, 1 + (position % (json.length - 1)));
        expect([beginning, isCutOff(beginning)]).toEqual([beginning, true]);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(["", " ", "{}", "null", "text", '{"a":1}}', '{"a" oops', '{"a":1,,', "]", '{"a":01'])(
    "is not what is whole, or no beginning of JSON: %j",
    (text) => {
      expect(isCutOff(text)).toBe(false);
    },
  );
});
