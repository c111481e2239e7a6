import { type Schema, Validator } from "@cfworker/json-schema";
import { format, type OutputFormat, parseJson } from "./tools.ts";

/** An answer that had to be JSON, and what is wrong with it. */
interface CheckedJson {
  /** With indentation; `null` if the answer is not JSON. */
  readonly formatted: string | null;
  /** Empty if the answer is what was requested. */
  readonly problems: readonly string[];
}

const MAX_PROBLEMS = 10;

/** Checks an answer against the requested output. */
export function checkJson(text: string, { kind, schema }: OutputFormat): CheckedJson {
  const read = parseJson(text);
  if ("problem" in read) return { formatted: null, problems: [read.problem] };
  const formatted = format(read.value);
  if (kind !== "json_schema") return { formatted, problems: [] };
  try {
    // The schema was checked to be an object before it was sent.
    const validator = new Validator(JSON.parse(schema) as Schema, "2020-12", false);
    const { errors } = validator.validate(read.value);
    const isLeaf = ({ instanceLocation: at }: { instanceLocation: string }, index: number) =>
      !errors.some((other, place) => place > index && other.instanceLocation.startsWith(`${at}/`));
    const problems = errors
      .filter(isLeaf)
      .map(({ instanceLocation, error }) => `${instanceLocation.slice(2) || "The answer"}: ${error}`);
    return { formatted, problems: [...new Set(problems)].slice(0, MAX_PROBLEMS) };
  } catch {
    return { formatted, problems: ["The schema cannot be checked in the browser."] };
  }
}
