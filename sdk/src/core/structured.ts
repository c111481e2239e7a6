import type {
  ChatCompletion,
  ChatCompletionMessage,
  ChatCompletionResponseFormat,
} from "../contract/chat.ts";
import type {
  OutputFormat,
  ParsedChatCompletion,
  StandardSchema,
  StandardSchemaIssue,
} from "../contract/structured.ts";
import { fromCaller } from "./checks.ts";
import { OstiaryError } from "./errors.ts";
import { identified, isFields, parsedJson } from "./fields.ts";

/** The answer of a model does not follow the schema that it was given. */
export class OutputValidationError extends OstiaryError {
  override readonly name = "OutputValidationError";
  /** The reasons by the schema; empty if the answer is not JSON or was cut off. */
  readonly issues: readonly StandardSchemaIssue[];
  /** The answer, which was charged. */
  readonly completion: ChatCompletion;

  constructor(message: string, issues: readonly StandardSchemaIssue[], completion: ChatCompletion) {
    super(message);
    this.issues = issues;
    this.completion = completion;
  }
}

/** Returns the schema of an option. @throws {OstiaryError} there is none, which JavaScript does not prevent. */
export function schemaOf<Output>(options: {
  readonly schema: StandardSchema<Output>;
}): StandardSchema<Output> {
  // Without options too: only a type says that there are some.
  const schema: StandardSchema<Output> | undefined = (options as typeof options | undefined)?.schema;
  if (schema?.["~standard"] !== undefined) return schema;
  throw new OstiaryError("schema must be a Standard Schema.");
}

/** The response format that asks a model for an output. @throws {OstiaryError} the schema is missing or cannot be converted to JSON Schema. */
export function responseFormatOf<Output>(format: OutputFormat<Output>): ChatCompletionResponseFormat {
  const schema = schemaOf(format);
  const { jsonSchema = jsonSchemaOf(schema), name = "output", description, strict = true } = format;
  return {
    type: "json_schema",
    json_schema: { name, schema: jsonSchema, strict, ...(description === undefined ? {} : { description }) },
  };
}

/** @throws {OstiaryError} the schema's library does not convert it. */
export function jsonSchemaOf(schema: StandardSchema): Readonly<Record<string, unknown>> {
  const { vendor, jsonSchema } = schema["~standard"];
  if (jsonSchema === undefined) {
    throw new OstiaryError(
      `The schema of ${vendor} has no JSON schema of its own. Pass one beside it, such as \`jsonSchema: z.toJSONSchema(schema)\` for zod.`,
    );
  }
  const { $schema: _, ...converted } = fromCaller(() => jsonSchema.input({ target: "draft-2020-12" }));
  return closed(converted) as Record<string, unknown>;
}

/** Forbids fields that an object schema does not name, which servers with strict schemas require. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isFields(schema)) return schema;
  const fields = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const isOpen = fields.type === "object" && "properties" in fields && !("additionalProperties" in fields);
  return isOpen ? { ...fields, additionalProperties: false } : fields;
}

/**
 * Parses the contents of an answer.
 *
 * @throws {OutputValidationError} a content is cut off, is not JSON or does not follow the schema.
 */
export async function parsedCompletion<Output>(
  completion: ChatCompletion,
  schema: StandardSchema<Output>,
): Promise<ParsedChatCompletion<Output>> {
  const parse = async ({ content, refusal, tool_calls: calls }: ChatCompletionMessage, finish: string) => {
    if (refusal || (calls ?? []).length > 0) return null;
    if (finish === "length" || finish === "content_filter") {
      throw new OutputValidationError(`The answer was cut off (${finish}).`, [], completion);
    }
    if (content === null || content === "") return null;
    return validated(schema, jsonOf(content, completion), completion);
  };
  const choices = await Promise.all(
    completion.choices.map(async (choice) => ({
      ...choice,
      message: { ...choice.message, parsed: await parse(choice.message, choice.finish_reason) },
    })),
  );
  return identified({ ...completion, choices }, completion._request_id);
}

function jsonOf(text: string, completion: ChatCompletion): unknown {
  const value = parsedJson(text);
  if (value === undefined) throw new OutputValidationError("The answer is not JSON.", [], completion);
  return value;
}

async function validated<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
  completion: ChatCompletion,
): Promise<Output> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return result.value;
  throw new OutputValidationError(
    `The answer does not follow the schema: ${describeIssues(result.issues)}`,
    result.issues,
    completion,
  );
}

/** The issues in one line, each with the path of its field. */
export function describeIssues(issues: readonly StandardSchemaIssue[]): string {
  return issues
    .map(({ message, path = [] }) => {
      const names = path.map((part) => String(typeof part === "object" ? part.key : part));
      return names.length === 0 ? message : `${names.join(".")}: ${message}`;
    })
    .join("; ");
}
