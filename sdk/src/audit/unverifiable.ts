import { OstiaryError } from "../core/errors.ts";

/** If none of the first 100 lines can be read, the file is not an export. */
export const MAX_UNREADABLE_START = 100;

/**
 * `verifyAuditExport` cannot verify these lines: they are not an export, are CSV, or are an export of a part of the log without its
 * proof. It does not mean that anything was changed.
 */
export class UnverifiableExportError extends OstiaryError {
  override readonly name: string = "UnverifiableExportError";

  constructor(reason: string) {
    super(`This kind of file can't be verified: ${reason}`);
  }
}
