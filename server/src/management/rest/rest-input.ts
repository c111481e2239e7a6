import type * as z from "zod";
import { Failure } from "../../errors/failure.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { doubledField, unknownField } from "../../operations/invalid-field.ts";
import { parameter, type Schema, schemaOf } from "../../operations/openapi-parts.ts";
import type { ManagementCall } from "../../operations/operation.ts";
import { requireKnownParameters } from "../../operations/query-parameters.ts";
import { restNameOf } from "./rest-answer.ts";

const IDEMPOTENCY_KEY = "Idempotency-Key";
/** Fields that only clients of tRPC send. */
const NOT_IN_REST: readonly string[] = ["direction"];

/** A field of a procedure's input, and where a REST request has it. */
interface RestField {
  /** The name of the field in the procedure's input. */
  readonly name: string;
  readonly restName: string;
  readonly place: "path" | "query" | "header" | "body";
  readonly isRequired: boolean;
  readonly schema: Schema;
}

/**
 * Returns a function that tells the fields of a procedure's input in a request with this method and path. They are made of its schema when
 * they are first asked for. `input`: the schema; `undefined`: it takes none.
 */
export function restFieldsOf(
  method: string,
  path: string,
  input: z.ZodType | undefined,
): () => readonly RestField[] {
  let fields: readonly RestField[] | null = null;
  return () => {
    fields ??= input === undefined ? [] : fieldsOf(method, path, input);
    return fields;
  };
}

function fieldsOf(method: string, path: string, input: z.ZodType): readonly RestField[] {
  const { properties, required } = schemaOf(input) as {
    readonly properties: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (NOT_IN_REST.includes(name)) return [];
    const isRequired = required?.includes(name) === true;
    return [{ name, ...placeOf(method, path, name), isRequired, schema }];
  });
}

function placeOf(method: string, path: string, name: string): Pick<RestField, "restName" | "place"> {
  if (name === "idempotencyKey") return { restName: IDEMPOTENCY_KEY, place: "header" };
  const restName = restNameOf(name);
  if (path.includes(`{${restName}}`)) return { restName, place: "path" };
  return { restName, place: method === "GET" ? "query" : "body" };
}

/**
 * Reads a procedure's input. Its values are checked by the procedure.
 *
 * @returns `undefined` for a procedure that takes none.
 * @throws {Failure} `invalid_request` for what the operation does not take, or what is given twice.
 */
export function readRestInput(fields: readonly RestField[], call: ManagementCall): unknown {
  const namesIn = (place: RestField["place"]) =>
    fields.filter((field) => field.place === place).map(({ restName }) => restName);
  requireKnownParameters(call.query, namesIn("query"));
  requireKnownFields(call.body, namesIn("body"));
  if (fields.length === 0) return undefined;
  const given = fields.flatMap((field): [string, unknown][] => {
    const value = sentValue(field, call);
    return value === undefined ? [] : [[field.name, value]];
  });
  return Object.fromEntries(given);
}

function sentValue({ restName, place, schema }: RestField, call: ManagementCall): unknown {
  switch (place) {
    case "path":
      return call.parameters[restName];
    case "query":
      return typedValue(call.query.get(restName) ?? undefined, schema);
    case "header": {
      const [value, ...others] = call.header(restName.toLowerCase());
      if (others.length > 0) throw doubledField(restName);
      return value;
    }
    case "body":
      return call.body?.value[restName];
  }
}

function requireKnownFields(body: JsonBody | null, known: readonly string[]): void {
  if (body === null) return;
  const unknown = body.members.find(({ name }) => !known.includes(name));
  if (unknown !== undefined) throw unknownField(unknown.name, "field", known);
  const doubled = body.doubledName;
  if (doubled !== null) throw doubledField(doubled);
}

/** The text of a query as a number, if one is expected. Any other text is left for the procedure to refuse. */
function typedValue(text: string | undefined, { type }: Schema): unknown {
  const isNumber = type === "integer" || type === "number";
  return isNumber && text !== undefined && /^-?\d{1,30}$/.test(text) ? Number(text) : text;
}

const NEXT_CURSOR = "nextCursor";

/** The failure in the terms of the request: with the names of REST. */
export function inRestTerms(failure: Failure, fields: readonly RestField[]): Failure {
  const { code, param, retryAfterMs, headers, cause } = failure;
  const [name = "", ...inner] = param?.split(".") ?? [];
  const field = fields.find((candidate) => candidate.name === name);
  if (field === undefined) return failure;
  const message = failure.message.replace(NEXT_CURSOR, restNameOf(NEXT_CURSOR));
  const renamed = message.startsWith(`${param}:`);
  const restParam = [field.restName, ...inner].join(".");
  return new Failure(code, renamed ? `${restParam}${message.slice(param?.length)}` : message, {
    param: restParam,
    headers,
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The parameters of the OpenAPI document. */
export function restParameters(fields: readonly RestField[]): readonly Schema[] {
  return fields.flatMap(({ restName, place, isRequired, schema }) =>
    place === "body" ? [] : [parameter(place, restName, schema, { isRequired })],
  );
}

/** The request body of the OpenAPI document; nothing for an operation whose body has no fields. */
export function restBody(fields: readonly RestField[]): { readonly requestBody?: Schema } {
  const inBody = fields.filter(({ place }) => place === "body");
  if (inBody.length === 0) return {};
  const required = inBody.flatMap(({ restName, isRequired }) => (isRequired ? [restName] : []));
  const schema = {
    type: "object",
    properties: Object.fromEntries(inBody.map(({ restName, schema }) => [restName, schema])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
  return { requestBody: { required: required.length > 0, content: { "application/json": { schema } } } };
}
