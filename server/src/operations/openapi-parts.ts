import * as z from "zod";
import { ERROR_CODES, type ErrorCode } from "../../../sdk/src/contract/error-codes.ts";
import { OVERLOADED_STATUS } from "../errors/messages-error.ts";

/** A JSON Schema, or another object of an OpenAPI document. */
export type Schema = Readonly<Record<string, unknown>>;

/** Answers by their HTTP status. */
export type Answers = Readonly<Record<number, Schema>>;

/** What the OpenAPI document says of an operation, beside its method and path. */
export interface OperationDescription {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly Schema[];
  readonly parameters?: readonly Schema[];
  readonly requestBody?: Schema;
  /** Without their headers. */
  readonly responses: Answers;
  /** Schemas that the description refers to, by their names. Operations that use the same name mean the same schema. */
  readonly schemas?: Readonly<Record<string, Schema>>;
}

/** The error codes of every request with a key. */
export const KEY_ERRORS: readonly ErrorCode[] = [
  "invalid_api_key",
  "revoked_api_key",
  "account_suspended",
  "ip_blocked",
  "internal_error",
  "server_is_overloaded",
];
/** The error codes of every request for a model. */
export const MODEL_ERRORS: readonly ErrorCode[] = [
  ...KEY_ERRORS,
  "invalid_json",
  "invalid_request",
  "context_length_exceeded",
  "credit_balance_exhausted",
  "model_not_found",
  "request_timeout",
  "idempotency_key_in_use",
  "idempotent_answer_gone",
  "request_too_large",
  "unsupported_media_type",
  "idempotency_key_reused",
  "rate_limit_exceeded",
  "too_many_concurrent_requests",
  "upstream_error",
  "upstream_timeout",
];

/** The credentials of operations that take a management token, too. */
export const KEY_OR_TOKEN: readonly Schema[] = [{ key: [] }, { managementToken: [] }];

/** The credentials of Anthropic's clients: the key in either header. */
export const MESSAGES_CREDENTIALS: readonly Schema[] = [{ key: [] }, { anthropicKey: [] }];

export const MANAGEMENT_TOKEN: readonly Schema[] = [{ managementToken: [] }];

/** The header of operations that are idempotent by it. */
export const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A request that is repeated within 24 hours with the same key and body gets the first answer, and is not charged again.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]*$" },
};

/** The header that Anthropic's clients send. */
export const MESSAGES_VERSION = {
  name: "anthropic-version",
  in: "header",
  description: "The version of Anthropic's API, passed on to upstreams of Anthropic's",
  schema: { type: "string" },
};

/** The JSON Schema of an input. Alternatives that JSON can't express, such as a `Date` beside text, are left out. */
export function schemaOf(schema: z.ZodType): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      const { anyOf, format } = jsonSchema;
      // The pattern of a format says nothing more, at length.
      if (format !== undefined) delete jsonSchema.pattern;
      if (anyOf !== undefined) {
        jsonSchema.anyOf = anyOf.filter((alternative) => Object.keys(alternative).length > 0);
      }
    },
  });
  return rest;
}

/** An optional parameter of the query. Its description is that of its schema. */
export function query(name: string, schema: Schema): Schema {
  return parameter("query", name, schema);
}

/** A parameter. Only those of the path have to be there, unless it says otherwise. Its description is that of its schema. */
export function parameter(
  place: "path" | "query" | "header",
  name: string,
  { description, ...schema }: Schema,
  { isRequired = place === "path" }: { readonly isRequired?: boolean } = {},
): Schema {
  return {
    name,
    in: place,
    ...(isRequired ? { required: true } : {}),
    ...(description === undefined ? {} : { description }),
    schema,
  };
}

export function body(schema: Schema): Schema {
  return { required: true, content: json(schema) };
}

export function json(schema: Schema): Schema {
  return { "application/json": { schema } };
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** An object that has all of these properties. */
export function object(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", required: Object.keys(properties), properties };
}

export function list(items: Schema): Schema {
  return object({ object: { const: "list" }, data: { type: "array", items } });
}

/** A page of a list. */
export function page(items: Schema): Schema {
  return object({
    object: { const: "list" },
    data: { type: "array", items },
    has_more: { type: "boolean", description: "Whether there is a next page" },
    next_cursor: {
      type: ["string", "null"],
      description: "Pass it as `cursor` to read the next page; null on the last one",
    },
  });
}

/** One answer for each status, with the codes that it may have. */
export function errors(codes: readonly ErrorCode[]): Answers {
  return errorsBy(codes, (code) => ERROR_CODES[code].status, "Error");
}

/** As {@link errors}, in the format of the Messages API. */
export function messagesErrors(codes: readonly ErrorCode[]): Answers {
  const statusOf = (code: ErrorCode) =>
    code === "server_is_overloaded" ? OVERLOADED_STATUS : ERROR_CODES[code].status;
  return errorsBy(codes, statusOf, "MessagesError");
}

/** The errors of operations that answer in the format of the client: OpenAI's or Anthropic's. */
export function errorsOfBoth(codes: readonly ErrorCode[]): Answers {
  const ours = errors(codes);
  const theirs = messagesErrors(codes);
  const content = json({ anyOf: [ref("Error"), ref("MessagesError")] });
  const both = Object.entries(ours).flatMap(([status, answer]) =>
    status in theirs ? [[status, { ...answer, content }]] : [],
  );
  return { ...theirs, ...ours, ...Object.fromEntries(both) };
}

function errorsBy(
  codes: readonly ErrorCode[],
  statusOf: (code: ErrorCode) => number,
  schema: string,
): Answers {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const status = statusOf(code);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => [
      status,
      { description: of.map((code) => `\`${code}\``).join(", "), content: json(ref(schema)) },
    ]),
  );
}
