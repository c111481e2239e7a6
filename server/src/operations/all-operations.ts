import type { AuditLog } from "../audit/audit-log.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Reads } from "../database/reads.ts";
import { exportAuditEntries, listAuditEntries } from "./audit.ts";
import { chatCompletions } from "./chat-completions.ts";
import { embeddings } from "./embeddings.ts";
import { countTokens, type MessagesParts, messages } from "./messages.ts";
import { getModel, listModels } from "./models.ts";
import { getOpenApi, openApiDocument } from "./openapi-document.ts";
import type { ManagementOperation, Operation } from "./operation.ts";
import { createResponse, type ResponsesParts } from "./responses.ts";
import { deleteResponse, getResponse, listInputItems } from "./stored-responses.ts";

interface OperationParts extends MessagesParts, ResponsesParts {
  readonly catalog: Catalog;
  readonly auditLog: AuditLog;
  /** The budgets by which reads share the database. */
  readonly reads: Reads;
  readonly management: readonly ManagementOperation[];
  /** The service's name, version and address, for the OpenAPI document. */
  readonly service: () => { readonly name: string; readonly version: string; readonly url: string };
}

/** Every operation of the API, and those that the dashboard's pages call with a session. */
export function allOperations(parts: OperationParts): readonly Operation[] {
  const { catalog, auditLog, management, service } = parts;
  const chat = chatCompletions(parts);
  const auditExport = exportAuditEntries(auditLog);
  const operations: readonly Operation[] = [
    chat,
    messages(parts),
    countTokens(parts),
    embeddings(parts),
    listModels(catalog),
    getModel(catalog),
    createResponse(parts),
    getResponse(parts),
    listInputItems(parts),
    deleteResponse(parts),
    listAuditEntries(auditLog),
    auditExport,
    ...management,
  ];
  return [
    ...operations,
    getOpenApi(
      () => service().url,
      () => openApiDocument(operations, service()),
    ),
    { ...chat, path: "/dashboard/chat/completions", auth: "session-as-key", openapi: null },
    { ...auditExport, path: "/dashboard/audit/export", auth: "session", openapi: null },
  ];
}
