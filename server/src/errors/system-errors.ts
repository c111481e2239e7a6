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

const OPEN_FILES = "the process has reached its limit of open files";
const DISK_ERROR = "its disk or file system reports an input/output error";

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EDQUOT: "the disk quota of its user is used up",
  EIO: DISK_ERROR,
  EISDIR: "it is a folder",
  ELOOP: "its links form a loop",
  EMFILE: OPEN_FILES,
  ENAMETOOLONG: "its path is too long",
  ENFILE: "the machine has reached its limit of open files",
  ENODEV: "its device does not exist",
  ENOENT: "it does not exist",
  ENOSPC: "its file system is full",
  ENOTDIR: "a part of its path is not a folder",
  ENXIO: "its device does not exist",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ESTALE: "its network file system does not have it any more",
  ETIMEDOUT: "its network file system does not answer",
};

/**
 * Why a file or folder could not be used, in words. An error that they don't cover keeps its own words, without the path, which Node adds
 * after a comma.
 */
export function fileReasonOf(error: unknown): string {
  const reason = REASONS[codeOf(error) ?? ""];
  if (reason !== undefined) return reason;
  const message = error instanceof Error ? error.message : String(error);
  return message.split(",", 1)[0] ?? message;
}

const REMEDIES: Readonly<Record<string, string>> = {
  EDQUOT: "Free space on its disk, or raise the quota.",
  EIO: "Read the log of the system (dmesg), and check the disk.",
  EMFILE: "Raise the limit of the process (ulimit -n, LimitNOFILE of systemd).",
  ENFILE: "Raise the limit of the machine (sysctl fs.file-max).",
  ENOSPC: "Free space on its disk.",
};

/** What to do about an error that no other path or permission mends, a sentence; `null`: another path or permission may mend it. */
export function fileRemedyOf(error: unknown): string | null {
  return REMEDIES[codeOf(error) ?? ""] ?? null;
}
