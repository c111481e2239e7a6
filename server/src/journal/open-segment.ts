import type { JournalFile } from "./file-system.ts";

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_AGE_MS = 60 * 60_000;

/**
 * The segment of the journal that is being written. After a write that failed, or whose lines were refused meanwhile, {@link cutBack} has to succeed
 * before the next one: a later truncate would remove the lines behind the remains, too.
 */
export class OpenSegment {
  readonly #file: JournalFile;
  readonly #sync: boolean;
  readonly #openedMs = performance.now();
  /** The length of the file without the remains of a failed write. */
  #bytes = 0;
  #isOverlong = false;
  #isUnsound = false;

  /** `sync`: whether what is written must have reached the disk (`true`) or only the operating system. */
  constructor(file: JournalFile, sync: boolean) {
    this.#file = file;
    this.#sync = sync;
  }

  /** As {@link JournalFile} has it. */
  get identity(): string {
    return this.#file.identity;
  }

  /** Whether it may be written to as it is: a failed write has left nothing, and no sync has failed. */
  get isSound(): boolean {
    return !this.#isOverlong && !this.#isUnsound;
  }

  get isOld(): boolean {
    return performance.now() - this.#openedMs > MAX_AGE_MS;
  }

  /** Whether the segment is long or old enough to be ended. */
  get isFull(): boolean {
    return this.#bytes >= MAX_BYTES || this.isOld;
  }

  /** Syncs the folder, which has the name of the file. Without it a power loss would remove the file. */
  async syncName(syncFolder: () => Promise<void>): Promise<void> {
    if (!this.#sync) return;
    this.#isUnsound = true;
    await syncFolder();
    this.#isUnsound = false;
  }

  /** Appends bytes. @param requireNotRefused throws if their lines were refused meanwhile: then they must not stay. */
  async append(bytes: Uint8Array, requireNotRefused: () => void): Promise<void> {
    this.#write(bytes);
    if (this.#sync) await this.#datasync();
    requireNotRefused();
    this.#bytes += bytes.length;
    this.#isOverlong = false;
  }

  /** Writes bytes that {@link cutBack} is to remove. */
  async probe(bytes: Uint8Array): Promise<void> {
    this.#write(bytes);
    if (this.#sync) await this.#datasync();
  }

  /** Removes the remains of a failed write. */
  async cutBack(): Promise<void> {
    if (!this.#isOverlong) return;
    await this.#file.truncate(this.#bytes);
    this.#isOverlong = false;
    // Refused lines must not come back after a power loss. If the sync fails, nothing more can be done.
    if (this.#sync) await this.#datasync().catch(() => {});
  }

  /** Removes the remains of a failed write if that can be done, without waiting for the disk. */
  async cutBackUnsynced(): Promise<void> {
    if (this.#isOverlong) await this.#file.truncate(this.#bytes).catch(() => {});
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #write(bytes: Uint8Array): void {
    this.#isOverlong = true;
    this.#file.write(bytes);
  }

  async #datasync(): Promise<void> {
    try {
      await this.#file.datasync();
    } catch (error) {
      // After a failed sync the state of the file's cached pages is unknown, and the next sync would not report it.
      this.#isUnsound = true;
      throw error;
    }
  }
}
