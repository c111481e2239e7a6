import { callTRPCProcedure, TRPCError } from "@trpc/server";
import type * as z from "zod";
import type { ErrorCode } from "../../../../sdk/src/contract/error-codes.ts";
import { json, KEY_OR_TOKEN, MANAGEMENT_TOKEN, type Schema } from "../../operations/openapi-parts.ts";
import type { ManagementOperation } from "../../operations/operation.ts";
import { JSON_HEADERS, NO_FACTS } from "../../operations/reply.ts";
import { ANSWER_SCHEMAS, SHARED_SCHEMAS } from "../answer-schemas.ts";
import { maxBodyBytes, type ProcedureDefinition, procedureOf } from "../calls.ts";
import type { AppRouter } from "../router.ts";
import { failureOf } from "../trpc.ts";
import { type ActionsExportParts, exportActions } from "./actions-export.ts";
import { restAnswerOf, restSchemaOf } from "./rest-answer.ts";
import { admitCaller, contextOf, restErrors } from "./rest-call.ts";
import { inRestTerms, readRestInput, restBody, restFieldsOf, restParameters } from "./rest-input.ts";

interface RestDefinition {
  readonly method: ManagementOperation["method"];
  /** A parameter in braces is the input of the same name. */
  readonly path: `/v1/${string}`;
  readonly procedure: keyof typeof ANSWER_SCHEMAS;
  readonly operationId: string;
  readonly summary: string;
  /** Error codes beside those of every operation. */
  readonly errors?: readonly ErrorCode[];
}

const CREATION_ERRORS: readonly ErrorCode[] = ["conflict", "key_limit_reached", "idempotency_key_reused"];

/** The procedures that are REST operations. Inputs, checks, authorization and answers are the procedures' own. */
const DEFINITIONS = [
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
] as const satisfies readonly RestDefinition[];

/** The procedures in the table. `npm run procedures` writes the schemas of their answers. */
export type RestProcedure = (typeof DEFINITIONS)[number]["procedure"];

interface RestParts extends ActionsExportParts {
  readonly router: AppRouter;
}

/** The procedures' REST operations under `/v1`. */
export function restOperations(parts: RestParts): readonly ManagementOperation[] {
  return [...DEFINITIONS.map((definition) => restOperation(definition, parts)), exportActions(parts)];
}

function restOperation(definition: RestDefinition, parts: RestParts): ManagementOperation {
  const { router } = parts;
  const { method, path, procedure, operationId, summary } = definition;
  // It exists: its answer schema was generated from the router.
  const { type, inputs, meta } = procedureOf(router, procedure) as ProcedureDefinition;
  // Inputs are checked by zod: every schema of a procedure is one of its.
  const fields = restFieldsOf(method, path, inputs[0] as z.ZodType | undefined);
  const takesKeys = meta?.takesKeys === true;
  return {
    kind: "management",
    method,
    path,
    auth: "key-or-management-token",
    maxBodyBytes: maxBodyBytes(router, [procedure]),
    openapi: () => ({
      operationId,
      summary,
      security: takesKeys ? KEY_OR_TOKEN : MANAGEMENT_TOKEN,
      parameters: restParameters(fields()),
      ...restBody(fields()),
      responses: {
        200: { description: "The answer", content: json(restSchemaOf(ANSWER_SCHEMAS[procedure])) },
        ...restErrors(method, definition.errors ?? []),
      },
      schemas: sharedSchemas(),
    }),
    run: async (request) => {
      const ctx = contextOf(request, await admitCaller(request, parts, { takesKeys }));
      const input = readRestInput(fields(), request);
      const call = { router, path: procedure, type, ctx, signal: undefined, batchIndex: 0 };
      try {
        const answer = await callTRPCProcedure({ ...call, getRawInput: async () => input });
        return {
          kind: "whole",
          headers: { ...JSON_HEADERS, "cache-control": "no-store" },
          body: JSON.stringify(restAnswerOf(answer)),
          facts: NO_FACTS,
        };
      } catch (thrown) {
        throw thrown instanceof TRPCError ? inRestTerms(failureOf(thrown), fields()) : thrown;
      }
    },
  };
}

/** Those that the schemas of answers refer to. */
function sharedSchemas(): Readonly<Record<string, Schema>> {
  const shared = Object.entries(SHARED_SCHEMAS).map(([name, schema]) => [name, restSchemaOf(schema)]);
  return Object.fromEntries(shared);
}
