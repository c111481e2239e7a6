const email = "x@example.com";

/** Inputs whose superjson annotations name types or paths that procedures do not use. */
export const FORGED: Readonly<Record<string, unknown>> = {
  "a typed array of any length": {
    json: { email: { length: 100_000_000 }, password: "x" },
    meta: { values: { email: [["typed-array", "Uint8Array"]] } },
  },
  "typed arrays by number": {
    json: Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, 4_000_000_000])),
    meta: {
      values: Object.fromEntries(
        Array.from({ length: 40 }, (_, at) => [`f${at}`, [["typed-array", "Int8Array"]]]),
      ),
    },
  },
  "references into a set": {
    json: { email, s: Array.from({ length: 1_000 }, (_, at) => at) },
    meta: {
      values: { s: ["set"] },
      referentialEqualities: { email: Array.from({ length: 500 }, () => "s.999") },
    },
  },
  "a map": { json: { email: [["a", 1]] }, meta: { values: { email: ["map"] } } },
  "an error": { json: { email: { message: "x" } }, meta: { values: { email: ["Error"] } } },
  "a regular expression": { json: { email: "/(a+)+$/" }, meta: { values: { email: ["regexp"] } } },
  "a URL": { json: { email: "http://x/" }, meta: { values: { email: ["URL"] } } },
  "a number": { json: { email: "NaN" }, meta: { values: { email: ["number"] } } },
  "a class": { json: { email: {} }, meta: { values: { email: [["class", "Date"]] } } },
  "a symbol": { json: { email: "x" }, meta: { values: { email: [["symbol", "x"]] } } },
  "a custom type": { json: { email: "x" }, meta: { values: { email: [["custom", "x"]] } } },
  "an unknown type": { json: { email }, meta: { values: { email: ["toString"] } } },
  "an annotation that is not a list": { json: { email }, meta: { values: { email: "Date" } } },
  "nested annotations": { json: { email: [email] }, meta: { values: { email: ["set", { 0: ["Date"] }] } } },
  "annotations within a date": { json: { email }, meta: { values: { email: ["Date", { 0: ["Date"] }] } } },
  "the prototype": { json: { email }, meta: { values: { "__proto__.polluted": ["undefined"] } } },
  "the constructor": {
    json: { email },
    meta: { values: { "constructor.prototype.polluted": ["undefined"] } },
  },
  "an array's length": { json: { email: [] }, meta: { values: { "email.length": ["undefined"] } } },
  "an index beyond an array": {
    json: { email: [] },
    meta: { values: { "email.4294967294": ["undefined"] } },
  },
  "a path that does not exist": { json: { email }, meta: { values: { other: ["undefined"] } } },
  "a path into a string": { json: { email }, meta: { values: { "email.0": ["undefined"] } } },
  "a path that is too deep": { json: { email }, meta: { values: { [".".repeat(50)]: ["undefined"] } } },
  "a path that is too long": { json: { email }, meta: { values: { ["a".repeat(5_000)]: ["undefined"] } } },
  "a number of thousands of digits": {
    json: { email: "9".repeat(3_000) },
    meta: { values: { email: ["bigint"] } },
  },
  "an invalid number": { json: { email: "1e3" }, meta: { values: { email: ["bigint"] } } },
  "an invalid date": {
    json: { email: "2026-02-31T99:00:00.000Z" },
    meta: { values: { email: ["Date"] } },
  },
  "a date in words": { json: { email: "yesterday (really)" }, meta: { values: { email: ["Date"] } } },
  "undefined for a value that exists": { json: { email }, meta: { values: { email: ["undefined"] } } },
  "annotations that are a string": { json: { email }, meta: "values" },
  "annotations that are a list": { json: { email }, meta: [] },
  "unknown annotations": { json: { email }, meta: { values: {}, more: {} } },
  "a list": [],
  nothing: null,
  "a string": '"x"',
};
