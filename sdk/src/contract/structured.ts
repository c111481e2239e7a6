import type { ChatCompletion, ChatCompletionMessage } from "./chat.ts";

/**
 * A schema of zod, Valibot, ArkType or any other library that implements Standard Schema.
 *
 * @see https://standardschema.dev
 */
export interface StandardSchema<Output = unknown> {
  /** What the library implements. */
  readonly "~standard": {
    /** The version of Standard Schema. */
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    /** Validates a value. */
    readonly validate: (
      value: unknown,
    ) => StandardSchemaResult<Output> | Promise<StandardSchemaResult<Output>>;
    /** The types of the schema. They have no values. */
    readonly types?:
      | {
          /** The type of values to validate. */
          readonly input: unknown;
          /** The type of validated values. */
          readonly output: Output;
        }
      | undefined;
    /** Schemas that can be converted to JSON Schema have this (zod since 4.2). */
    readonly jsonSchema?:
      | {
          /** Returns the JSON schema of values to validate. */
          readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
        }
      | undefined;
  };
}

/** The outcome of a validation. */
export type StandardSchemaResult<Output> =
  | {
      /** The validated value. */
      readonly value: Output;
      /** Absent if the value follows the schema. */
      readonly issues?: undefined;
    }
  | {
      /** Why the value does not follow the schema. */
      readonly issues: readonly StandardSchemaIssue[];
    };

/** A reason why a value does not follow a schema. */
export interface StandardSchemaIssue {
  /** The reason. */
  readonly message: string;
  /** Where the value is: the names and indexes that lead to it. */
  readonly path?:
    | readonly (
        | PropertyKey
        | {
            /** The name or index. */
            readonly key: PropertyKey;
          }
      )[]
    | undefined;
}

/** The format of an answer that is parsed. */
export interface OutputFormat<Output> {
  /** Validates the answer, and gives it its type. */
  readonly schema: StandardSchema<Output>;
  /** The JSON schema that the model follows. Default: that of `schema`, if its library can convert it. */
  readonly jsonSchema?: Readonly<Record<string, unknown>> | undefined;
  /** A name for the model: letters, digits, `_` and `-`, up to 64. Default `output`. */
  readonly name?: string | undefined;
  /** What the output is, for the model. */
  readonly description?: string | undefined;
  /** Whether the model's server enforces the schema, if it can. Default `true`. */
  readonly strict?: boolean | undefined;
}

/** A message whose content was parsed. */
export interface ParsedChatCompletionMessage<Output> extends ChatCompletionMessage {
  /** The validated output; `null` if the model refused, or called tools instead. */
  readonly parsed: Output | null;
}

/** A complete answer whose contents were parsed. */
export interface ParsedChatCompletion<Output> extends Omit<ChatCompletion, "choices"> {
  /** The answers: as many as `n` requests. */
  readonly choices: readonly (Omit<ChatCompletion["choices"][number], "message"> & {
    /** The answer, with its parsed content. */
    readonly message: ParsedChatCompletionMessage<Output>;
  })[];
}
