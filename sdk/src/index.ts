export type { AuditExport, ExportOptions, ExportProgress } from "./audit/export.ts";
export type { ActionsExportParams } from "./audit/export-actions.ts";
export * from "./audit/verify-actions.ts";
export * from "./audit/verify-export.ts";
export { type ClientOptions, Ostiary, Ostiary as default } from "./client.ts";
export type * from "./contract/audit.ts";
export type { EndReason, UsageSource } from "./contract/audit-enums.ts";
export type * from "./contract/chat.ts";
export type * from "./contract/chat-extensions.ts";
export type * from "./contract/embeddings.ts";
export type { ErrorCode } from "./contract/error-codes.ts";
export type * from "./contract/management.ts";
export type * from "./contract/models.ts";
export type * from "./contract/structured.ts";
export type { APIPromise, WithResponse } from "./core/api-promise.ts";
export type { ChatStream, ChatStreamEvents } from "./core/chat-stream.ts";
export type { ClientEvents, RequestEvent, ResponseEvent } from "./core/client-events.ts";
export {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  type APIErrorDetails,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ContentTooLargeError,
  InternalServerError,
  NotFoundError,
  OstiaryError,
  PaymentRequiredError,
  PermissionDeniedError,
  type PermissionDeniedReason,
  RateLimitError,
  StreamInterruptedError,
  type TimeoutOption,
  UnprocessableEntityError,
  UnverifiableExportError,
} from "./core/errors.ts";
export type { HeadersLike } from "./core/headers.ts";
export type { Logger, LogLevel } from "./core/log.ts";
export type { APIPagePromise, Page, PagePromise, ToArrayOptions } from "./core/pagination.ts";
export type { APIStreamPromise, ChatCompletionStream } from "./core/stream.ts";
export { OutputValidationError } from "./core/structured.ts";
export type { ToolRun, ToolRunEvents, ToolRunOptions, ToolRunParams } from "./core/tool-run.ts";
export { type RunnableTool, type ToolContext, type ToolDefinition, tool } from "./core/tools.ts";
export type { Query, RequestOptions } from "./core/transport.ts";
export type { ProcedureClient, Trpc } from "./core/trpc.ts";
export { type AppInfo, VERSION } from "./core/version.ts";
export type { FetchOptions } from "./core/wire.ts";
export type { Audit } from "./resources/audit.ts";
export type { Chat, ChatCompletions } from "./resources/chat.ts";
export type { Embeddings } from "./resources/embeddings.ts";
export type { AccountResource, Credits, Keys, Usage } from "./resources/management.ts";
export type { Models } from "./resources/models.ts";
