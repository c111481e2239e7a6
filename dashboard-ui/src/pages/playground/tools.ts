/** A function that the model may call, as the user describes it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** A JSON schema as text. */
  readonly parameters: string;
}

/** How the model uses tools: a mode, or `function:` and the name of the one to call. */
export type ToolChoice = "auto" | "none" | "required" | `function:${string}`;

/** What an answer has to be. */
export interface OutputFormat {
  readonly kind: "text" | "json_object" | "json_schema";
  /** A JSON schema as text, for `json_schema`. Kept while another kind is chosen. */
  readonly schema: string;
}

export const TEXT_FORMAT: OutputFormat = { kind: "text", schema: "" };

export const EXAMPLE_TOOL: ToolDefinition = {
  name: "get_weather",
  description: "Get the current weather of a city.",
  parameters: format({
    type: "object",
    properties: {
      city: { type: "string", description: "The city, such as Paris." },
      unit: { type: "string", enum: ["celsius", "fahrenheit"] },
    },
    required: ["city"],
    additionalProperties: false,
  }),
};

export const EXAMPLE_SCHEMA = format({
  type: "object",
  properties: { answer: { type: "string" }, confidence: { type: "number", minimum: 0, maximum: 1 } },
  required: ["answer", "confidence"],
  additionalProperties: false,
});

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** The problem with a tool's name, if any. `others` are the names of the other tools. */
export function nameProblem(name: string, others: readonly string[]): string | undefined {
  if (!NAME.test(name)) return "Enter 1 to 64 letters, digits, _ and -.";
  return others.includes(name) ? "Another tool has this name." : undefined;
}

/** The problem with the text of a JSON schema, if any. */
export function schemaProblem(text: string): string | undefined {
  const read = parseJson(text);
  if ("problem" in read) return read.problem;
  const { value } = read;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return 'Enter a JSON object, such as {"type": "object"}.';
  }
  return problemInSchema(value, "");
}

/** Parses JSON. The problem names the place. */
export function parseJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `Not valid JSON: ${error instanceof Error ? error.message : "it cannot be read"}` };
  }
}

/** JSON with indentation. */
export function format(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];
/** The members of a schema that are schemas themselves. */
const NESTED = ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"];
const NESTED_BY_NAME = ["properties", "patternProperties", "$defs", "definitions"];
const NESTED_LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];

/** Finds what providers refuse most often: an unknown type, a list that is none, a required property that is not described. */
function problemInSchema(schema: unknown, at: string): string | undefined {
  const place = at === "" ? "The schema" : at;
  if (typeof schema === "boolean") return undefined;
  if (!isObject(schema)) return `${place}: enter a schema.`;
  const types = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  const unknown = types.find((type) => !TYPES.includes(type));
  if (unknown !== undefined) return `${place}: there is no type ${JSON.stringify(unknown)}.`;
  const { required, enum: values } = schema;
  if (required !== undefined && !isTexts(required)) return `${place}.required: enter a list of names.`;
  if (values !== undefined && !Array.isArray(values)) return `${place}.enum: enter a list of values.`;
  return problemInMembers(schema, at);
}

function problemInMembers(schema: Readonly<Record<string, unknown>>, at: string): string | undefined {
  const nested: (readonly [string, unknown])[] = NESTED.filter((name) => schema[name] !== undefined).map(
    (name) => [`${at}/${name}`, schema[name]],
  );
  for (const name of NESTED_BY_NAME) {
    const members = schema[name];
    if (members === undefined) continue;
    if (!isObject(members)) return `${at}/${name}: enter an object.`;
    nested.push(...Object.entries(members).map(([key, value]) => [`${at}/${name}/${key}`, value] as const));
  }
  for (const name of NESTED_LISTS) {
    const members = schema[name];
    if (members === undefined) continue;
    if (!Array.isArray(members)) return `${at}/${name}: enter a list of schemas.`;
    nested.push(...members.map((value, index) => [`${at}/${name}/${index}`, value] as const));
  }
  for (const [place, value] of nested) {
    const problem = problemInSchema(value, place);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The request's `tools` and `tool_choice`. Tools whose schema is invalid are refused before a request is sent. */
export function toolFields(
  tools: readonly ToolDefinition[],
  choice: ToolChoice,
): Readonly<Record<string, unknown>> {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: {
        name,
        ...(description.trim() === "" ? {} : { description }),
        parameters: jsonOf(parameters),
      },
    })),
    ...(choice === "auto" ? {} : { tool_choice: toolChoiceField(choice, tools) }),
  };
}

function toolChoiceField(choice: ToolChoice, tools: readonly ToolDefinition[]): unknown {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  const name = choice.slice("function:".length);
  // A tool that was removed or renamed can no longer be demanded.
  return tools.some((tool) => tool.name === name) ? { type: "function", function: { name } } : "auto";
}

/** The request's `response_format`. */
export function formatFields({ kind, schema }: OutputFormat): Readonly<Record<string, unknown>> {
  if (kind === "text") return {};
  if (kind === "json_object") return { response_format: { type: "json_object" } };
  return {
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: jsonOf(schema) } },
  };
}

/** The value of JSON that was checked before; `{}` for any other text. */
function jsonOf(text: string): unknown {
  const read = parseJson(text);
  return "value" in read ? read.value : {};
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
