import * as z from "zod";
import type { AccountAdmin } from "../../accounts/account-admin.ts";
import type { ActionLines } from "../../accounts/action-chain.ts";
import { type Reads, untilEnded } from "../../database/reads.ts";
import { toFailure } from "../../errors/failure.ts";
import { MANAGEMENT_TOKEN, ref } from "../../operations/openapi-parts.ts";
import type { ManagementOperation } from "../../operations/operation.ts";
import { NO_FACTS } from "../../operations/reply.ts";
import { afterPosition, MAX_LINES } from "../procedures/action-chain.ts";
import { callingOwner, failureOfInput, readerNameOf } from "../trpc.ts";
import { admitCaller, type RestCallParts, requireSameToken, restErrors } from "./rest-call.ts";
import { inRestTerms, readRestInput, restFieldsOf, restParameters } from "./rest-input.ts";

const PATH = "/v1/account/actions/export";

export interface ActionsExportParts extends RestCallParts {
  readonly accountAdmin: Pick<AccountAdmin, "actionChain">;
  readonly reads: Reads;
}

/** `GET /v1/account/actions/export`: the account's audit trail as lines of JSON, oldest first, with its chain. */
export function exportActions(parts: ActionsExportParts): ManagementOperation {
  const input = z.strictObject({ after: afterPosition });
  const fields = restFieldsOf("GET", PATH, input);
  return {
    kind: "management",
    method: "GET",
    path: PATH,
    auth: "key-or-management-token",
    maxBodyBytes: 0,
    openapi: () => ({
      operationId: "exportActions",
      summary: "The account's audit trail, oldest first, with the chain that verifies it",
      security: MANAGEMENT_TOKEN,
      parameters: restParameters(fields()),
      responses: {
        200: {
          description: "A line for each action, of which the schema describes one",
          content: { "application/x-ndjson": { schema: ref("ExportedAction") } },
        },
        ...restErrors("GET", []),
      },
    }),
    run: async (request) => {
      const caller = await admitCaller(request, parts, { takesKeys: false });
      const { id } = callingOwner(caller).account;
      const { data, error } = input.safeParse(readRestInput(fields(), request));
      if (error !== undefined) throw inRestTerms(failureOfInput(error), fields());
      const stream = parts.reads.stream(readerNameOf(caller, id));
      return {
        kind: "stream",
        headers: {
          "content-type": "application/x-ndjson; charset=utf-8",
          "content-disposition": 'attachment; filename="actions.ndjson"',
          "cache-control": "no-store",
        },
        chunks: untilEnded(
          pagesOf(async (after) => {
            const page = await stream.run(() =>
              parts.accountAdmin.actionChain.readLines(id, after, MAX_LINES),
            );
            // The token may be revoked while its export runs.
            await requireSameToken(request, parts);
            return page;
          }, data.after),
          () => stream.end(),
          request.signal,
        ),
        last: () => "",
        controlEvents: null,
        facts: async () => NO_FACTS,
        failureOf: toFailure,
      };
    },
  };
}

async function* pagesOf(
  read: (after: number) => Promise<ActionLines>,
  start: number,
): AsyncGenerator<string> {
  for (let after: number | null = start; after !== null; ) {
    const page: ActionLines = await read(after);
    if (page.lines.length > 0) yield `${page.lines.join("\n")}\n`;
    after = page.next;
  }
}
