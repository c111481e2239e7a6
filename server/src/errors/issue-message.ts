import type { core } from "zod";

type Issue = core.$ZodIssue;

const DEFAULT_MESSAGE = /^(?:Invalid |Too (?:big|small):|Unrecognized keys?:)/;

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  bigint: "a bigint",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
};

const UNITS: Readonly<Record<string, string>> = { string: "characters", array: "items", set: "items" };

/** The message of a schema. zod's own, which are for programmers, in plain words. */
export function messageOf(issue: Issue): string {
  const { code, message } = issue;
  if (!DEFAULT_MESSAGE.test(message)) return message;
  switch (code) {
    case "invalid_type":
      if (message.endsWith("received undefined")) return "is required";
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case "invalid_value": {
      const values = issue.values.map(String);
      return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(", ")}`;
    }
    case "too_big":
      return boundOf(["less than", "at most"], issue.maximum, issue);
    case "too_small":
      return boundOf(["greater than", "at least"], issue.minimum, issue);
    case "not_multiple_of":
      return issue.divisor === 1 ? "must be a whole number" : `must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return `has ${issue.keys.length === 1 ? "an unknown field" : "unknown fields"}: ${issue.keys.join(", ")}`;
    case "invalid_union": {
      // The field that decides which of the schemas applies.
      const values = "options" in issue ? (issue.options ?? []) : [];
      return values.length > 0 ? `must be one of ${values.join(", ")}` : optionsOf(issue.errors);
    }
    default:
      return "is not valid";
  }
}

/** The bound that a value exceeds, in words. */
function boundOf(
  [exclusive, inclusive]: readonly [string, string],
  bound: number | bigint,
  issue: core.$ZodIssueTooBig | core.$ZodIssueTooSmall,
): string {
  const unit = UNITS[issue.origin];
  if (unit !== undefined && issue.code === "too_small" && Number(bound) === 1) return "must not be empty";
  const words = `${issue.inclusive === false ? exclusive : inclusive} ${bound.toLocaleString("en")}`;
  return unit === undefined ? `must be ${words}` : `must have ${words} ${unit}`;
}

/** What is wrong with a value that fits none of several schemas: what each of them wants of the whole value. */
function optionsOf(options: readonly (readonly Issue[])[]): string {
  const wanted = options.flatMap(([first]) =>
    first === undefined || first.path.length > 0 ? [] : [messageOf(first)],
  );
  const [only, ...others] = new Set(wanted);
  if (only === undefined) return "is not valid";
  return [only, ...others.map((message) => message.replace(/^must be /, ""))].join(" or ");
}
