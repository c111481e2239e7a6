import { open, rename, stat, truncate } from "node:fs/promises";

const MAX_BYTES = 4 * 1024 * 1024;
const CHECK_EVERY_MS = 60_000;

/** The server's log. The previous run's log is kept beside it. Neither grows beyond a few megabytes. */
export class LogFile {
  readonly path: string;
  readonly #timer: NodeJS.Timeout;

  private constructor(path: string) {
    this.path = path;
    this.#timer = setInterval(() => {
      // The server appends, so it continues at the new end. A failure is retried after a minute.
      this.#bound().catch(() => {});
    }, CHECK_EVERY_MS);
    this.#timer.unref();
  }

  static async begin(path: string): Promise<LogFile> {
    // Renaming works even if another user owns the file.
    await rename(path, `${path}.1`).catch(() => {});
    const file = await open(path, "a", 0o600);
    await file.close();
    return new LogFile(path);
  }

  async bytes(): Promise<number> {
    return (await stat(this.path)).size;
  }

  /** The reason for a failed start: the last error after an offset, or the last line. */
  async lastError(fromBytes: number): Promise<string> {
    const file = await open(this.path, "r");
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, fromBytes);
      const lines = buffer.toString("utf8", 0, bytesRead).trim().split("\n");
      const errors = lines.filter((line) => /(?:FATAL|PANIC|ERROR|error): /.test(line));
      return (errors.at(-1) ?? lines.at(-1) ?? "").replace(/^\S+ \S+ \S+ \[\d+\] /, "");
    } finally {
      await file.close();
    }
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #bound(): Promise<void> {
    if ((await this.bytes()) > MAX_BYTES) await truncate(this.path);
  }
}
