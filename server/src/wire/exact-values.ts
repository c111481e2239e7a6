import type { Json } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import { objectOf } from "../json/members.ts";

/** Finds the value that stands at a place of a request, with its numbers as `parseExact` keeps them. Meant for what is only passed on. */
export type ExactValues = <Value extends Json>(value: Value, at: string) => Value;

/** JavaScript can't hold each number that a client may have written. */
export function exactValuesIn(body: JsonBody): ExactValues {
  const members = new Map<string, Json | undefined>();
  return (value, at) => {
    const [name = "", ...steps] = at.split(".");
    if (!members.has(name)) members.set(name, body.exact(name));
    const found = steps.reduce(memberOf, members.get(name));
    // The same value but for its numbers.
    return typeof found === typeof value ? (found as typeof value) : value;
  };
}

function memberOf(value: Json | undefined, step: string): Json | undefined {
  return Array.isArray(value) ? value[Number(step)] : objectOf(value)[step];
}
