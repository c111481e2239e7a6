import { TRPCError } from "@trpc/server";
import { z } from "zod";
import type { ActionLines } from "../../accounts/action-chain.ts";
import { toFailure } from "../../errors/failure.ts";
import { errors, KEY_ERRORS, MANAGEMENT_TOKEN } from "../../operations/openapi-parts.ts";
import { type ManagementOperation, NO_FACTS } from "../../operations/operation.ts";
import { afterPosition } from "../action-chain.ts";
import type { CallLimits } from "../call-limits.ts";
import type { CallerParts } from "../caller.ts";
import type { AppRouter } from "../router.ts";
import { failureOf, keyRefused } from "../trpc.ts";
import { callerOf, callerOfProcedure, contextOf } from "./rest-call.ts";
import { readRestInput, restFieldsOf, restParameters } from "./rest-input.ts";

const PATH = "/v1/account/actions/export";

export interface ActionsExportParts extends CallerParts {
  readonly router: AppRouter;
  readonly callLimits: CallLimits;
}

/** `GET /v1/account/actions/export`: the account's audit trail as lines of JSON, oldest first, with its chain. */
export function exportActions(parts: ActionsExportParts): ManagementOperation {
  const fields = restFieldsOf("GET", PATH, z.strictObject({ after: afterPosition }));
  const call = callerOfProcedure(parts.router, "account.exportActions");
  return {
    kind: "management",
    method: "GET",
    path: PATH,
    auth: "key-or-management-token",
    maxBodyBytes: 0,
    openapi: {
      operationId: "exportActions",
      summary: "The account's audit trail, oldest first, with the chain that verifies it",
      security: MANAGEMENT_TOKEN,
      parameters: restParameters(fields),
      responses: {
        200: {
          description: "A line for each action",
          content: { "application/x-ndjson": { schema: { type: "string" } } },
        },
        ...errors([
          ...KEY_ERRORS,
          "invalid_management_token",
          "permission_denied",
          "invalid_request",
          "rate_limit_exceeded",
        ]),
      },
    },
    run: async (request) => {
      const caller = await callerOf(request, parts);
      parts.callLimits.count(caller, request.clientInfo.sourceIp, 1);
      if (caller.kind === "key") throw keyRefused();
      const { after = 0 } = readRestInput(fields, request) as { after?: number };
      const read = (from: number) =>
        call(contextOf(request, caller), { after: from }) as Promise<ActionLines>;
      // The first page is read before the answer begins, so that a refusal has its status.
      const first = await read(after).catch((thrown: unknown) => {
        throw thrown instanceof TRPCError ? failureOf(thrown) : thrown;
      });
      return {
        kind: "stream",
        headers: {
          "content-type": "application/x-ndjson; charset=utf-8",
          "content-disposition": 'attachment; filename="actions.ndjson"',
          "cache-control": "no-store",
        },
        chunks: pagesOf(first, read),
        lastChunk: "",
        atFailure: "abort",
        facts: async () => NO_FACTS,
        failureOf: (thrown) => (thrown instanceof TRPCError ? failureOf(thrown) : toFailure(thrown)),
      };
    },
  };
}

async function* pagesOf(
  first: ActionLines,
  read: (after: number) => Promise<ActionLines>,
): AsyncGenerator<string> {
  for (let page = first; ; page = await read(page.next)) {
    if (page.lines.length > 0) yield `${page.lines.join("\n")}\n`;
    if (page.next === null) return;
  }
}
