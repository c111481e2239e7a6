// JSON Schemas as lists of fields.
import { escapeHtml } from "./html.mjs";

/** How deep fields within fields are listed. */
const MAX_DEPTH = 6;
/** As many values of an enumeration are listed in the line of a field; more are folded. */
const MAX_VALUES = 12;

/**
 * A list of the fields of an object, or of the objects in an array. Empty where the schema names no fields.
 *
 * @param view.resolve returns the component that a schema refers to
 * @param view.isAnswer whether the service sends it; then no field is said to be required
 */
export function fieldsHtml(schema, view, depth = 0, seen = []) {
  const objects = objectsIn(schema, view.resolve).filter((each) => !seen.includes(each));
  if (depth > MAX_DEPTH) return "";
  const lists = objects.map(({ properties = {}, required = [] }) =>
    Object.entries(properties).map(([name, field]) => {
      const isRequired = required.includes(name) && view.isAnswer !== true;
      return fieldHtml({ name, field, isRequired }, view, depth, [...seen, ...objects]);
    }),
  );
  return lists
    .filter((fields) => fields.length > 0)
    .map((fields) => `<ul class="fields">\n${fields.join("\n")}\n</ul>`)
    .join("\n");
}

/** A field or parameter: name, type, whether it is required, what it means, and its own fields. */
export function fieldHtml(described, view, depth = 0, seen = []) {
  const { name, field, isRequired = false, place } = described;
  const description = described.description ?? view.resolve(field).description;
  const within = fieldsHtml(field, view, depth + 1, seen);
  const notes = [
    `<span class="type">${escapeHtml(typeOf(field, view.resolve))}</span>`,
    place === undefined ? "" : `<span class="note">${place}</span>`,
    isRequired ? '<span class="note required">required</span>' : "",
  ];
  return `<li><div><code class="name">${escapeHtml(name)}</code> ${notes.join(" ")}</div>
${description === undefined ? "" : `<p>${inlineCode(description)}</p>`}${constraintsHtml(field, view.resolve)}
${within === "" ? "" : `<details><summary>Fields of ${escapeHtml(name)}</summary>${within}</details>`}</li>`;
}

/** A type as a reader says it, like "string or array of objects". */
export function typeOf(schema, resolve) {
  const resolved = resolve(schema);
  const variants = variantsOf(resolved);
  if (variants !== null) {
    return [...new Set(variants.flatMap((each) => typeOf(each, resolve).split(" or ")))].join(" or ");
  }
  if ("const" in resolved) return resolved.const === null ? "null" : typeof resolved.const;
  if (resolved.type === undefined) return resolved.enum === undefined ? "any" : typeof resolved.enum[0];
  return [resolved.type]
    .flat()
    .map((type) => (type === "array" ? `array of ${plural(typeOf(resolved.items ?? {}, resolve))}` : type))
    .join(" or ");
}

/** `object` as `objects`; words that have a plural already, and what is none, stay. */
function plural(types) {
  return types.replace(/\b(string|object|integer|number|boolean)\b/g, "$1s").replace(/^any$/, "values");
}

function variantsOf({ anyOf, oneOf }) {
  return anyOf ?? oneOf ?? null;
}

function objectsIn(schema, resolve) {
  const resolved = resolve(schema);
  const variants = variantsOf(resolved);
  if (variants !== null) return variants.flatMap((each) => objectsIn(each, resolve));
  if ([resolved.type].flat().includes("array")) return objectsIn(resolved.items ?? {}, resolve);
  return resolved.properties === undefined ? [] : [resolved];
}

function constraintsHtml(field, resolve) {
  const resolved = resolve(field);
  const parts = [resolved, ...(variantsOf(resolved) ?? []).map(resolve)].flatMap(constraintsOf);
  const values = [resolved, ...(variantsOf(resolved) ?? []).map(resolve)].flatMap((each) =>
    "const" in each ? [each.const] : (each.enum ?? []),
  );
  const limits = parts.length === 0 ? "" : `<p class="limits">${[...new Set(parts)].join(" · ")}</p>`;
  if (values.length === 0) return limits;
  const listed = values.map((value) => `<code>${escapeHtml(JSON.stringify(value))}</code>`).join(", ");
  if (values.length <= MAX_VALUES)
    return `<p class="limits">${values.length === 1 ? "Always" : "One of"} ${listed}</p>${limits}`;
  return `<details><summary>One of ${values.length} values</summary><p class="limits">${listed}</p></details>${limits}`;
}

function constraintsOf(schema) {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, format } = schema;
  return [
    rangeOf(minimum, maximum, ""),
    rangeOf(minLength, maxLength, " characters"),
    rangeOf(minItems, maxItems, " items"),
    format === undefined ? null : `format <code>${escapeHtml(format)}</code>`,
    pattern === undefined ? null : `pattern <code>${escapeHtml(pattern)}</code>`,
    schema.default === undefined
      ? null
      : `default <code>${escapeHtml(JSON.stringify(schema.default))}</code>`,
  ].filter((part) => part !== null);
}

function rangeOf(min, max, unit) {
  if (min === undefined && max === undefined) return null;
  if (max === undefined || Math.abs(max) >= Number.MAX_SAFE_INTEGER)
    return min === undefined ? null : `at least ${min}${unit}`;
  return min === undefined ? `at most ${max}${unit}` : `${min} to ${max}${unit}`;
}

/** Text with code between backticks. */
export function inlineCode(text) {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}
