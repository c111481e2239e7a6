/**
 * The encoding of procedures' inputs and answers: that of superjson 2 (https://github.com/flightcontrolhq/superjson), of which only
 * three types are written and read. superjson's own `deserialize` creates any type that the other side names (typed arrays of any length, sets, maps, errors, regular expressions) and follows
 * references, whose cost grows with the square of their number. This reader creates only dates, bigints and `undefined`,
 * and its work is linear in the size of the data.
 */

/** The data is not in the encoding of procedures. `message` states the problem and contains none of the data. */
export class UnreadableData extends Error {}

/** The maximum number of procedures that one request calls. */
export const MAX_BATCHED_CALLS = 20;

/** Limits for one read. */
export interface ReadLimits {
  /** The maximum number of values of the three types. */
  readonly maxTypedValues: number;
}

/** The length of the longest date (`+275760-09-13T00:00:00.000Z`). */
const MAX_DATE_LENGTH = 32;
/** The maximum exceeds the digits of any database column. It is bounded because the time of `BigInt` grows faster than the number of digits. */
const BIGINT = /^-?\d{1,40}$/;
const DATE = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;
const INDEX = /^(?:0|[1-9]\d{0,8})$/;
const MAX_PATH_LENGTH = 500;
const MAX_PATH_SEGMENTS = 16;
/** Names that lead to an object's prototype. */
const FORBIDDEN_NAMES: readonly string[] = ["__proto__", "constructor", "prototype"];
const META_NAMES: readonly string[] = ["values", "referentialEqualities", "v"];

type Json = Readonly<Record<string, unknown>>;
type Container = Record<string, unknown>;

/** A value in the encoding. `values` names the types of those that JSON does not have, by their paths. */
export interface ProcedureData {
  readonly json: unknown;
  readonly meta?: { readonly values: Note | Readonly<Record<string, Note>>; readonly v: 1 };
}

/** The name of a type. */
type Note = readonly ["Date" | "bigint" | "undefined"];

/**
 * Writes a value as superjson does, without its annotations of identical objects: each object is written in full wherever it occurs.
 * Values of other types than `Date`, `bigint` and `undefined` are written as plain data.
 */
export function writeProcedureData(value: unknown): ProcedureData {
  const whole = typedJson(value);
  if (whole !== null) return { json: whole.json, meta: { values: [whole.type], v: 1 } };
  const values: Record<string, Note> = {};
  const json = written(value, "", values);
  return Object.keys(values).length === 0 ? { json } : { json, meta: { values, v: 1 } };
}

/** Writes a value, and notes the places of typed values in it, whose paths begin with `prefix`. */
function written(value: unknown, prefix: string, values: Record<string, Note>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const writeAt = (field: unknown, name: string | number) => {
    const place = prefix + segmentOf(name);
    const whole = typedJson(field);
    if (whole === null) return written(field, `${place}.`, values);
    values[place] = [whole.type];
    return whole.json;
  };
  if (Array.isArray(value)) return value.map(writeAt);
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, writeAt(field, name)]));
}

/** A value of one of the three types in JSON; `null` for all others. */
function typedJson(value: unknown): { readonly json: string | null; readonly type: Note[0] } | null {
  if (value instanceof Date) return { json: value.toISOString(), type: "Date" };
  if (typeof value === "bigint") return { json: String(value), type: "bigint" };
  return value === undefined ? { json: null, type: "undefined" } : null;
}

/** A name as a segment of a path: dots and backslashes are escaped. */
function segmentOf(name: string | number): string {
  return String(name).replaceAll(/[\\.]/g, "\\$&");
}

/**
 * Reads the output of {@link writeProcedureData} or superjson. The data is changed in place. Annotations of identical objects are
 * skipped, because the values are complete without them.
 *
 * @throws {UnreadableData} for data in another form, of other types than `Date`, `bigint` and `undefined`, or of more typed
 *   values than `limits` allow.
 */
export function readProcedureData(data: unknown, limits: ReadLimits): unknown {
  if (!isObject(data)) throw new UnreadableData("must be an object with `json`");
  const { json, meta } = data;
  if (meta === undefined || meta === null) return json;
  if (!isObject(meta)) throw new UnreadableData("meta: must be an object");
  for (const name of Object.keys(meta)) {
    if (!META_NAMES.includes(name)) throw new UnreadableData("meta: holds what procedures don't use");
  }
  const { values } = meta;
  if (values === undefined) return json;
  if (Array.isArray(values)) return typed(json, values);
  if (!isObject(values)) throw new UnreadableData("meta.values: must be an object or an array");
  let count = 0;
  for (const path in values) {
    if (++count > limits.maxTypedValues) {
      throw new UnreadableData(`meta.values: may have at most ${limits.maxTypedValues} entries`);
    }
    const { parent, name } = placeOf(json, path);
    parent[name] = typed(parent[name], values[path]);
  }
  return json;
}

/**
 * The encoder and decoder for a client, in the form that tRPC's links take. An answer may have as many typed values as its bytes allow.
 */
export const clientTransformer: {
  readonly serialize: (value: unknown) => unknown;
  readonly deserialize: (data: unknown) => unknown;
} = {
  serialize: writeProcedureData,
  deserialize: (data) => readProcedureData(data, { maxTypedValues: Number.POSITIVE_INFINITY }),
};

/** Returns the object or array that contains a path's last segment, and the segment. @throws {UnreadableData} the path does not exist. */
function placeOf(json: unknown, path: string): { readonly parent: Container; readonly name: string } {
  const segments = segmentsOf(path);
  const name = segments.pop() ?? "";
  let parent = json;
  for (const segment of segments) parent = ownContainer(parent, segment)[segment];
  return { parent: ownContainer(parent, name), name };
}

/** Returns the value as a container with an own property of this name. @throws {UnreadableData} it is not one. */
function ownContainer(value: unknown, name: string): Container {
  const isContainer = Array.isArray(value) ? INDEX.test(name) : isObject(value);
  if (!isContainer || FORBIDDEN_NAMES.includes(name) || !Object.hasOwn(value as object, name)) {
    throw new UnreadableData("meta.values: names a place that `json` does not have");
  }
  return value as Container;
}

/** Splits a path into segments at its dots. A backslash escapes a dot or backslash of a name. */
function segmentsOf(path: string): string[] {
  if (path.length > MAX_PATH_LENGTH) throw new UnreadableData("meta.values: has a path that is too long");
  const segments: string[] = [""];
  for (let at = 0; at < path.length; at++) {
    let character = path.charAt(at);
    if (character === ".") {
      segments.push("");
      continue;
    }
    if (character === "\\") character = path.charAt(++at);
    segments[segments.length - 1] += character;
  }
  if (segments.length > MAX_PATH_SEGMENTS)
    throw new UnreadableData("meta.values: has a path that is too deep");
  return segments;
}

/** Converts a value to its annotated type. @throws {UnreadableData} the type is another, or the value does not match it. */
function typed(value: unknown, note: unknown): Date | bigint | undefined {
  const [type, ...rest]: readonly unknown[] = Array.isArray(note) ? note.slice(0, 2) : [];
  switch (rest.length === 0 && type) {
    case "undefined":
      if (value === null) return undefined;
      break;
    case "bigint":
      if (typeof value === "string" && BIGINT.test(value)) return BigInt(value);
      break;
    case "Date": {
      const isDate = typeof value === "string" && value.length <= MAX_DATE_LENGTH && DATE.test(value);
      const date = new Date(isDate ? value : Number.NaN);
      if (!Number.isNaN(date.getTime())) return date;
      break;
    }
    default:
      throw new UnreadableData("meta.values: only Date, bigint and undefined can be sent");
  }
  throw new UnreadableData(`meta.values: notes ${type} for a value that is none`);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
