/** The operating system's code for an error, such as `ENOSPC`; `null` when it has none. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null;
}

/** The codes of a full disk, and of a user who may not use more of it. */
const DISK_FULL: ReadonlySet<string | null> = new Set(["ENOSPC", "EDQUOT"]);

/** Whether an operation failed only because its disk is full. A start tolerates that, because replaying the journal frees space. */
export function isDiskFull(error: unknown): boolean {
  return DISK_FULL.has(codeOf(error));
}

/** Why a file or folder could not be used, without its path, which Node adds after a comma. */
export function fileReasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split(",", 1)[0] ?? message;
}
