// Example values of JSON Schemas: readable ones by the names of fields, others by type.

/** By the name of the field, where the schema alone would say too little. */
const BY_NAME = {
  model: "sandbox/echo",
  content: "Hello!",
  input: "Hello!",
  role: "user",
  name: "backend",
  max_tokens: 256,
  at: "2026-01-31T12:00:00.000Z",
  key: "sk-…",
  key_id: "Qm7f",
  last_used_ip: "203.0.113.7",
  user_email: "ana@example.com",
};

/** A value of a schema: of an object, its required fields. */
export function exampleOf(schema, resolve, name = "", seen = []) {
  const resolved = resolve(schema);
  if (seen.includes(resolved) || resolved === undefined) return {};
  const within = [...seen, resolved];
  if ("const" in resolved) return resolved.const;
  if (resolved.enum?.includes(BY_NAME[name])) return BY_NAME[name];
  if (resolved.enum !== undefined) return resolved.enum[0];
  const variants = resolved.anyOf ?? resolved.oneOf;
  if (variants !== undefined) return exampleOf(preferred(variants, name), resolve, name, within);
  const type = Array.isArray(resolved.type) ? resolved.type[0] : resolved.type;
  if (type === "object") return objectOf(resolved, resolve, within);
  if (type === "array") return [exampleOf(resolved.items ?? {}, resolve, singular(name), within)];
  return plainExample(type, resolved, name);
}

function objectOf({ properties = {}, required }, resolve, seen) {
  // A message may be without content, and its schema may not name it, and a request may continue a response without input, but an
  // example should say something.
  const names = new Set([
    ...(required ?? Object.keys(properties)),
    ...("role" in properties ? ["content"] : []),
    ...("model" in properties && "input" in properties ? ["input"] : []),
  ]);
  return Object.fromEntries(
    [...names].map((name) => [name, exampleOf(properties[name] ?? {}, resolve, name, seen)]),
  );
}

function plainExample(type, { format, minimum = 0, default: usual, pattern = "" }, name) {
  if (usual !== undefined) return usual;
  const byName = BY_NAME[name];
  if (
    byName !== undefined &&
    (type === undefined || typeof byName === (type === "integer" ? "number" : type))
  ) {
    return byName;
  }
  if (type === "integer" || type === "number") return Math.max(minimum, 1);
  if (type === "boolean") return false;
  if (type === "null") return null;
  if (format === "date-time") return "2026-01-31T12:00:00.000Z";
  if (format === "date") return "2026-01-31";
  if (name === "id" || name.endsWith("_id") || format === "uuid") return EXAMPLE_ID;
  if (name.endsWith("_usd") || pattern.includes("\\d+(\\.")) return "12.5";
  if (type === undefined) return {};
  return "…";
}

export const EXAMPLE_ID = "0198c7de-5d3a-7c21-9f44-2b1e6a70c5d8";

/** The plainest variant; a list of items where the name says so. */
function preferred(variants, name) {
  const isList = name === "messages" || name === "data";
  const plain = variants.find(({ type }) => (isList ? type === "array" : type === "string"));
  return plain ?? variants.find(({ type }) => type !== "null") ?? variants[0];
}

function singular(name) {
  return name === "messages" || name === "data" ? "" : name;
}
