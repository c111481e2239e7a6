import { OstiaryError } from "../core/errors.ts";

/**
 * The lines are nothing that `verifyAuditExport` can verify: not an export, CSV, or an export of a part of the log without its proof.
 * It does not mean that anything was changed.
 */
export class UnverifiableExportError extends OstiaryError {
  override readonly name: string = "UnverifiableExportError";

  constructor(reason: string) {
    super(`This kind of file can't be verified: ${reason}`);
  }
}
