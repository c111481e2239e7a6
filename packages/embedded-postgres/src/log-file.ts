import { open, rename, stat, truncate } from "node:fs/promises";

const MAX_BYTES = 4 * 1024 * 1024;
const CHECK_EVERY_MS = 60_000;

export type LogFile = Awaited<ReturnType<typeof beginLogFile>>;

/** Begins the server's log. The previous run's log is kept beside it. Neither grows beyond a few megabytes. */
export async function beginLogFile(path: string) {
  // Renaming works even if another user owns the file.
  await rename(path, `${path}.1`).catch(() => {});
  const created = await open(path, "a", 0o600);
  await created.close();
  const bytes = async () => (await stat(path)).size;
  const bound = async () => {
    if ((await bytes()) > MAX_BYTES) await truncate(path);
  };
  // The server appends, so it continues at the new end. A failure is retried after a minute.
  const timer = setInterval(() => void bound().catch(() => {}), CHECK_EVERY_MS);
  timer.unref();
  return {
    path,
    bytes,
    /** The reason for a failed start: the last error after an offset, or the last line. */
    lastError: async (fromBytes: number): Promise<string> => {
      const file = await open(path, "r");
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, fromBytes);
        const lines = buffer.toString("utf8", 0, bytesRead).trim().split("\n");
        const error = lines.findLast((line) => /(?:FATAL|PANIC|ERROR|error): /.test(line));
        return (error ?? lines.at(-1) ?? "").replace(/^\S+ \S+ \S+ \[\d+\] /, "");
      } finally {
        await file.close();
      }
    },
    end: () => clearInterval(timer),
  };
}
