import type { ChatCompletionTool, ChatCompletionToolCall } from "../contract/chat.ts";
import type { StandardSchema } from "../contract/structured.ts";
import { functionOf } from "./checks.ts";
import { OstiaryError } from "./errors.ts";
import { describeIssues, jsonSchemaOf, schemaOf } from "./structured.ts";

/** What a tool's function gets beside its arguments. */
export interface ToolContext {
  /** Aborted when the run is. */
  readonly signal: AbortSignal;
  /** The model's call. */
  readonly call: ChatCompletionToolCall;
}

/** A function that a model may call, as `runTools` takes it. */
export interface ToolDefinition<Args> {
  /** Letters, digits, `_` and `-`: up to 64. */
  readonly name: string;
  /** By which the model decides when and how to call the function. */
  readonly description?: string | undefined;
  /** Validates the arguments, and gives them their type. */
  readonly schema: StandardSchema<Args>;
  /** The JSON schema that the model follows. Default: that of `schema`, if its library can convert it. */
  readonly jsonSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Whether the model's server enforces the schema, if it can. */
  readonly strict?: boolean | undefined;
  /**
   * Does the work. The model gets the result: a string as it is, anything else as JSON. It also gets the message of an error that this
   * throws, and may try again.
   */
  readonly run: (args: Args, context: ToolContext) => unknown;
}

/** A tool with its function, made by {@link tool}. */
export interface RunnableTool {
  /** The tool as the model sees it. */
  readonly definition: Extract<ChatCompletionTool, { readonly type: "function" }>;
  /** Runs the function with the arguments as the model wrote them. @returns the text that the model gets. */
  readonly call: (argumentsText: string, context: ToolContext) => Promise<string>;
}

/**
 * Defines a function that a model may call.
 *
 * @example
 * ```ts
 * import { tool } from "ostiary";
 * import { z } from "zod";
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "The weather of a city.",
 *   schema: z.object({ city: z.string() }),
 *   run: async ({ city }) => ({ city, celsius: 21 }),
 * });
 * console.log(weather.definition.function.name);
 * ```
 *
 * @throws {OstiaryError} `run` or the schema is missing, or the schema cannot be converted to JSON Schema.
 */
export function tool<Args>(definition: ToolDefinition<Args>): RunnableTool {
  const schema = schemaOf(definition);
  const { name, description, jsonSchema = jsonSchemaOf(schema), strict, run } = definition;
  functionOf("run", run);
  return {
    definition: {
      type: "function",
      function: {
        name,
        parameters: jsonSchema,
        ...(description === undefined ? {} : { description }),
        ...(strict === undefined ? {} : { strict }),
      },
    },
    call: async (text, context) => {
      const result = await schema["~standard"].validate(argumentsOf(text));
      if (result.issues !== undefined) {
        throw new OstiaryError(`The arguments are not valid: ${describeIssues(result.issues)}`);
      }
      return textOf(await run(result.value, context));
    },
  };
}

function argumentsOf(text: string | object | null | undefined): unknown {
  // Some model servers write an object, or nothing.
  if (typeof text !== "string") return text ?? {};
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new OstiaryError("The arguments are not valid JSON.");
  }
}

/** A function without a result has done its work. */
function textOf(result: unknown): string {
  if (typeof result === "string") return result;
  return JSON.stringify(result) ?? "done";
}
