import { type AnyTRPCProcedure, TRPCError } from "@trpc/server";
import type * as z from "zod";
import type { ErrorCode } from "../../../../sdk/src/contract/error-codes.ts";
import { errors, json, KEY_ERRORS, KEY_OR_TOKEN, MANAGEMENT_TOKEN } from "../../operations/openapi-parts.ts";
import { JSON_HEADERS, type ManagementOperation, NO_FACTS } from "../../operations/operation.ts";
import { ANSWER_SCHEMAS } from "../answer-schemas.ts";
import { maxBodyBytes, procedureOf } from "../calls.ts";
import type { AppRouter } from "../router.ts";
import { failureOf, keyRefused } from "../trpc.ts";
import { type ActionsExportParts, exportActions } from "./actions-export.ts";
import { restAnswerOf, restSchemaOf } from "./rest-answer.ts";
import { callerOf, callerOfProcedure, contextOf } from "./rest-call.ts";
import { inRestTerms, readRestInput, restBody, restFieldsOf, restParameters } from "./rest-input.ts";

type NamesIn<Procedures, Prefix extends string = ""> = {
  [Name in keyof Procedures & string]: Procedures[Name] extends AnyTRPCProcedure
    ? `${Prefix}${Name}`
    : NamesIn<Procedures[Name], `${Prefix}${Name}.`>;
}[keyof Procedures & string];

/** A procedure that has an answer schema, and so can be offered as a REST operation. */
export type RestProcedure = NamesIn<AppRouter["_def"]["record"]> & keyof typeof ANSWER_SCHEMAS;

interface RestDefinition {
  readonly method: ManagementOperation["method"];
  /** A parameter in braces is the input of the same name. */
  readonly path: `/v1/${string}`;
  readonly procedure: RestProcedure;
  readonly operationId: string;
  readonly summary: string;
  /** Error codes beside those of every operation. */
  readonly errors?: readonly ErrorCode[];
}

const CREATION_ERRORS: readonly ErrorCode[] = ["conflict", "key_limit_reached", "idempotency_key_reused"];

/** The procedures that are REST operations. Inputs, checks, authorization and answers are the procedures' own. */
const DEFINITIONS: readonly RestDefinition[] = [
  {
    method: "GET",
    path: "/v1/keys",
    procedure: "keys.list",
    operationId: "listKeys",
    summary: "A page of the account's keys with their usage: active keys first, newest first",
  },
  {
    method: "POST",
    path: "/v1/keys",
    procedure: "keys.create",
    operationId: "createKey",
    summary: "Creates a key; only this answer contains the key string",
    errors: CREATION_ERRORS,
  },
  {
    method: "GET",
    path: "/v1/keys/{id}/usage",
    procedure: "keys.usage",
    operationId: "retrieveKeyUsage",
    summary: "The usage of a key, and how far its successor has taken over",
    errors: ["not_found"],
  },
  {
    method: "GET",
    path: "/v1/keys/{id}/addresses",
    procedure: "keys.addresses",
    operationId: "listKeyAddresses",
    summary: "The addresses from which a key was used in the last 30 days, the latest first",
    errors: ["not_found"],
  },
  {
    method: "POST",
    path: "/v1/keys/{id}/rotate",
    procedure: "keys.rotate",
    operationId: "rotateKey",
    summary: "Creates a successor of a key; the old key works until it is revoked",
    errors: [...CREATION_ERRORS, "not_found"],
  },
  {
    method: "POST",
    path: "/v1/keys/{id}/revoke",
    procedure: "keys.revoke",
    operationId: "revokeKey",
    summary: "Revokes a key; once this has answered, every node refuses the key",
    errors: ["not_found"],
  },
  {
    method: "DELETE",
    path: "/v1/keys/{id}",
    procedure: "keys.revoke",
    operationId: "deleteKey",
    summary: "Revokes a key, as `POST /v1/keys/{id}/revoke` does; the key stays in the list",
    errors: ["not_found"],
  },
  {
    method: "GET",
    path: "/v1/usage",
    procedure: "usage.summary",
    operationId: "summarizeUsage",
    summary: "Requests, errors, tokens and cost by intervals of a time zone, and by model or key",
  },
  {
    method: "GET",
    path: "/v1/usage/performance",
    procedure: "usage.performance",
    operationId: "summarizePerformance",
    summary: "Latency and time to first token by intervals of a time zone, and by upstream",
  },
  {
    method: "GET",
    path: "/v1/audit/summary",
    procedure: "audit.summary",
    operationId: "summarizeAuditEntries",
    summary: "Totals, a histogram and counts of the entries that match a filter",
  },
  {
    method: "GET",
    path: "/v1/account",
    procedure: "account.get",
    operationId: "retrieveAccount",
    summary: "The account with its plan, state, limits and IP rules",
    errors: ["not_found"],
  },
  {
    method: "GET",
    path: "/v1/account/limits",
    procedure: "account.limits",
    operationId: "retrieveLimits",
    summary: "The limits in force, and their present use",
    errors: ["not_found"],
  },
  {
    method: "GET",
    path: "/v1/account/actions",
    procedure: "account.actions",
    operationId: "listActions",
    summary: "A page of the account's audit trail, newest first",
  },
  {
    method: "GET",
    path: "/v1/credits",
    procedure: "credits.balance",
    operationId: "retrieveCredits",
    summary: "The account's credit",
    errors: ["not_found"],
  },
  {
    method: "GET",
    path: "/v1/credits/ledger",
    procedure: "credits.ledger",
    operationId: "listLedgerEntries",
    summary: "A page of the account's grants, adjustments and charges, newest first",
  },
  {
    method: "GET",
    path: "/v1/credits/statement",
    procedure: "credits.statement",
    operationId: "listStatementLines",
    summary:
      "A page of the account's statement, newest first: a line per grant, adjustment and day of requests",
  },
];

export interface RestParts extends ActionsExportParts {
  readonly router: AppRouter;
}

/** The procedures' REST operations under `/v1`. */
export function restOperations(parts: RestParts): readonly ManagementOperation[] {
  return [...DEFINITIONS.map((definition) => restOperation(definition, parts)), exportActions(parts)];
}

function restOperation(definition: RestDefinition, parts: RestParts): ManagementOperation {
  const { method, path, procedure } = definition;
  const { inputs = [], meta } = procedureOf(parts.router, procedure) ?? {};
  // Inputs are checked by zod: every schema of a procedure is one of its.
  const fields = restFieldsOf(method, path, inputs[0] as z.ZodType | undefined);
  const body = restBody(fields);
  const call = callerOfProcedure(parts.router, procedure);
  const takesKeys = meta?.takesKeys === true;
  return {
    kind: "management",
    method,
    path,
    auth: "key-or-management-token",
    maxBodyBytes: maxBodyBytes(parts.router, [procedure]),
    openapi: {
      operationId: definition.operationId,
      summary: definition.summary,
      security: takesKeys ? KEY_OR_TOKEN : MANAGEMENT_TOKEN,
      parameters: restParameters(fields),
      ...(body === null ? {} : { requestBody: body }),
      responses: {
        200: { description: "The answer", content: json(restSchemaOf(ANSWER_SCHEMAS[procedure])) },
        ...errors(errorsOf(definition)),
      },
    },
    run: async (request) => {
      const caller = await callerOf(request, parts);
      parts.callLimits.count(caller, request.clientInfo.sourceIp, 1);
      if (caller.kind === "key" && !takesKeys) throw keyRefused();
      const input = readRestInput(fields, request);
      try {
        const answer = await call(contextOf(request, caller), input);
        const headers = { ...JSON_HEADERS, "cache-control": "no-store" };
        return {
          kind: "whole",
          headers,
          body: JSON.stringify(restAnswerOf(answer)),
          facts: NO_FACTS,
        };
      } catch (thrown) {
        throw thrown instanceof TRPCError ? inRestTerms(failureOf(thrown), fields) : thrown;
      }
    },
  };
}

function errorsOf({ method, errors: own = [] }: RestDefinition): readonly ErrorCode[] {
  const ofBodies: readonly ErrorCode[] =
    method === "GET"
      ? []
      : ["invalid_json", "request_timeout", "request_too_large", "unsupported_media_type"];
  return [
    ...KEY_ERRORS,
    "invalid_management_token",
    "permission_denied",
    "invalid_request",
    "rate_limit_exceeded",
    ...ofBodies,
    ...own,
  ];
}
