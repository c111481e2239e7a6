import { type SuperJSONResult, serialize } from "superjson";

/**
 * How inputs and answers of procedures travel: as superjson writes them, of which only three types are read. superjson's own
 * `deserialize` makes whatever the other side names (typed arrays of any length, sets, maps, errors, regular expressions) and follows
 * references, whose cost grows with the square of their number. This reader makes dates, bigints and `undefined`, and nothing
 * else; its work is linear in the size of the data.
 */

/** The data is not in the form that procedures use. `message` says what is wrong, and repeats nothing of the data. */
export class UnreadableData extends Error {
  override readonly name = "UnreadableData";
}

/** What may be read at once. */
export interface ReadLimits {
  /** How many values may have one of the three types. */
  readonly maxTypedValues: number;
}

/** No date is longer (`+275760-09-13T00:00:00.000Z`). */
const MAX_DATE_LENGTH = 32;
/** More digits than a column of the database holds; the time that `BigInt` takes grows faster than their number. */
const BIGINT = /^-?\d{1,40}$/;
const DATE = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;
const INDEX = /^(?:0|[1-9]\d{0,8})$/;
const MAX_PATH_LENGTH = 500;
const MAX_PATH_SEGMENTS = 16;
/** Names by which an object's prototype could be reached. */
const FORBIDDEN_NAMES: readonly string[] = ["__proto__", "constructor", "prototype"];
const META_NAMES: readonly string[] = ["values", "referentialEqualities", "v"];

type Json = Readonly<Record<string, unknown>>;
type Container = Record<string, unknown>;

/**
 * Writes a value as superjson does, without its notes on which values are the same object: each is written in full wherever it stands.
 */
export function writeProcedureData(value: unknown): SuperJSONResult {
  const { json, meta } = serialize(value);
  return meta?.values === undefined ? { json } : { json, meta: { values: meta.values, v: 1 } };
}

/**
 * Reads what {@link writeProcedureData} or superjson has written; the data is changed in place. Notes on which values are the same
 * object are skipped: the values are there without them.
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
 * Both for a client, in the form that tRPC's links take. An answer has as many typed values as its bytes allow.
 */
export const clientTransformer: {
  readonly serialize: (value: unknown) => unknown;
  readonly deserialize: (data: unknown) => unknown;
} = {
  serialize: writeProcedureData,
  deserialize: (data) => readProcedureData(data, { maxTypedValues: Number.POSITIVE_INFINITY }),
};

/** The object or array that a path ends in, and under which name. @throws {UnreadableData} when there is no such place. */
function placeOf(json: unknown, path: string): { readonly parent: Container; readonly name: string } {
  const segments = segmentsOf(path);
  const name = segments.pop() ?? "";
  let parent = json;
  for (const segment of segments) parent = ownContainer(parent, segment)[segment];
  return { parent: ownContainer(parent, name), name };
}

/** The value as a container that has something of this name itself. @throws {UnreadableData} when it is none. */
function ownContainer(value: unknown, name: string): Container {
  const isContainer = Array.isArray(value) ? INDEX.test(name) : isObject(value);
  if (!isContainer || FORBIDDEN_NAMES.includes(name) || !Object.hasOwn(value as object, name)) {
    throw new UnreadableData("meta.values: names a place that `json` does not have");
  }
  return value as Container;
}

/** Segments are divided by dots; a dot or backslash of a name has a backslash before it. */
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

/** A value as the type that is noted for it. @throws {UnreadableData} for other types, and for values that are none of it. */
function typed(value: unknown, note: unknown): Date | bigint | undefined {
  const [type, ...rest]: readonly unknown[] = Array.isArray(note) ? note.slice(0, 2) : [];
  if (rest.length > 0) throw new UnreadableData("meta.values: only Date, bigint and undefined can be sent");
  switch (type) {
    case "undefined":
      if (value === null) return undefined;
      break;
    case "bigint":
      if (typeof value === "string" && BIGINT.test(value)) return BigInt(value);
      break;
    case "Date":
      if (typeof value === "string" && value.length <= MAX_DATE_LENGTH && DATE.test(value))
        return dateOf(value);
      break;
    default:
      throw new UnreadableData("meta.values: only Date, bigint and undefined can be sent");
  }
  throw new UnreadableData(`meta.values: notes ${type} for a value that is none`);
}

function dateOf(text: string): Date {
  const date = new Date(text);
  if (Number.isNaN(date.getTime()))
    throw new UnreadableData("meta.values: notes Date for a value that is none");
  return date;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
