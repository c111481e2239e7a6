import type { ChatCompletion, ChatCompletionMessage } from "./chat.ts";

/**
 * A schema of zod, Valibot, ArkType or any other library that implements Standard Schema.
 *
 * @see https://standardschema.dev
 */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => StandardSchemaResult<Output> | Promise<StandardSchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Schemas that can be converted to JSON Schema have this (zod since 4.2). */
    readonly jsonSchema?:
      | { readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown> }
      | undefined;
  };
}

/** The outcome of a validation. */
export type StandardSchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardSchemaIssue[] };

/** A reason why a value does not follow a schema. */
export interface StandardSchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
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
  /** `null` if the model refused, or called tools instead. */
  readonly parsed: Output | null;
}

/** A complete answer whose contents were parsed. */
export interface ParsedChatCompletion<Output> extends Omit<ChatCompletion, "choices"> {
  readonly choices: readonly (Omit<ChatCompletion["choices"][number], "message"> & {
    readonly message: ParsedChatCompletionMessage<Output>;
  })[];
}
