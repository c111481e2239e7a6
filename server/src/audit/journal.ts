import { join } from "node:path";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { codeOf, fileSystem, type JournalFile, type JournalFiles } from "./journal-files.ts";
import { decodeLine, encodeLine, type JournalLine, splitLines, type UnreadableLine } from "./journal-line.ts";
import { RejectedLines, type RejectedPosition } from "./rejected-lines.ts";

export type { JournalLine };

const SEGMENT_NAME = /^(\d{12})\.ndjson$/;
const SEGMENT_BYTES = 4 * 1024 * 1024;
const SEGMENT_MS = 60 * 60_000;
/** What has to fit on the disk before a journal that could not be written counts as usable again. */
const PROBE = new Uint8Array(64 * 1024);
/** Made and removed at the start, to find out whether the folder can be written to. */
const TRIAL_NAME = "writable";

/** A journal's file, numbered in the order of writing. */
export type Segment = number;

/** A line of a segment, as it is read back. */
export interface SegmentLine {
  /** Counted from 1. */
  readonly number: number;
  /** As it stands in the file, without its newline. */
  readonly bytes: Uint8Array;
  readonly content: JournalLine | UnreadableLine;
}

/** What a segment holds; `problem` when its file can't be read at all. */
export type SegmentContent =
  | { readonly problem: null; readonly lines: readonly SegmentLine[]; readonly tornBytes: number }
  | { readonly problem: string };

export interface JournalOptions {
  /** Made if absent. */
  readonly folder: string;
  /** Whether an entry must have reached the disk (`true`) or only the operating system. */
  readonly sync: boolean;
  /** The file system, unless a test brings another one. */
  readonly files?: JournalFiles;
}

/** The journal's folder can't be used. The message is one line that tells the operator what to do. */
export class JournalError extends Error {
  override readonly name = "JournalError";
}

/**
 * The node's local write-ahead file of audit entries: append-only segments, one line a request that begins or
 * ends. What was appended survives the process. Lines that come together share one write.
 *
 * Of a write that failed nothing stays: the segment is cut back to where it began before anyone is told, so that what was
 * refused is not found by a later {@link read}. Only when cutting back fails too, and the process ends before it has worked, may whole
 * lines of it stay.
 */
export class Journal {
  readonly #folder: string;
  readonly #sync: boolean;
  readonly #files: JournalFiles;
  readonly #rejected: RejectedLines;
  #segment: Segment;
  #file: JournalFile | null = null;
  /** The length of the file as far as it is sound. */
  #bytes = 0;
  /** Whether the file may be longer than that, by what a failed write left. */
  #isOverlong = false;
  /** Whether nothing more may be written to the file. */
  #isUnsound = false;
  #openedMs = 0;
  /** Why the last write failed; `null`: it did not. */
  #failure: unknown = null;
  /** Lines of a segment that are in this file and nowhere else yet. Counted as they are written, before anybody knows. */
  readonly #unreleased = new Map<Segment, number>();
  /** Lines that are to be written together, and what becomes of them. */
  #waiting: JournalLine[] = [];
  #written: Promise<Segment> = Promise.resolve(0);
  /** Ends with whatever was to be written last, well or not. */
  #writing: Promise<void> = Promise.resolve();
  #checking: Promise<void> | null = null;

  private constructor(options: JournalOptions, rejected: RejectedLines, firstSegment: Segment) {
    this.#folder = options.folder;
    this.#sync = options.sync;
    this.#files = options.files ?? fileSystem;
    this.#rejected = rejected;
    this.#segment = firstSegment;
  }

  /**
   * Opens the journal. New entries go to a new segment; those left by the last process are for {@link replayJournal}.
   *
   * @throws {JournalError} when the folder can't be made or written to.
   */
  static async open(options: JournalOptions): Promise<{ journal: Journal; leftover: readonly Segment[] }> {
    const { folder, files = fileSystem } = options;
    try {
      await files.makeFolder(folder);
      await tryToWrite(folder, files);
      const names = await files.names(folder);
      const leftover = names.flatMap((name) => SEGMENT_NAME.exec(name)?.[1] ?? []).map(Number);
      const rejected = await RejectedLines.open(folder, files);
      // Above those that are set aside as well, so that names tell which lines came from where.
      const highest = Math.max(0, ...leftover, ...names.map((name) => RejectedLines.segmentOf(name) ?? 0));
      return {
        journal: new Journal(options, rejected, highest + 1),
        leftover: leftover.sort((a, b) => a - b),
      };
    } catch (cause) {
      throw new JournalError(
        `The journal folder ${folder} cannot be used (${reasonOf(cause)}). Every request is recorded there before it is answered: ` +
          `make it a folder that ${whoWrites()} can write to, or set OSTIARY_DATA_DIR to another data folder.`,
        { cause },
      );
    }
  }

  /** Resolves with the segment once the line would survive this process. Rejects when it could not be written. */
  append(line: JournalLine): Promise<Segment> {
    // All that comes in one turn of the event loop is one write.
    if (this.#waiting.length === 0) {
      this.#written = this.#writing.then(() => setImmediate()).then(() => this.#writeWaiting());
      this.#writing = this.#written.then(() => this.#endIfFull(), NOTHING);
    }
    this.#waiting.push(line);
    return this.#written;
  }

  /** What a former process left in a segment. A torn last line, of a request that never ended for its client, is left out. */
  async read(segment: Segment): Promise<SegmentContent> {
    let bytes: Uint8Array;
    try {
      bytes = await this.#files.read(this.#path(segment));
    } catch (error) {
      if (OVERLOADED.has(codeOf(error) ?? "")) throw error;
      return { problem: reasonOf(error) };
    }
    const { lines, rest } = splitLines(bytes);
    return {
      problem: null,
      lines: lines.map((line) => ({ ...line, content: decodeLine(line.bytes) })),
      tornBytes: rest.length,
    };
  }

  /** Deletes a segment that a former process left. */
  async drop(segment: Segment): Promise<void> {
    await this.#files.remove(this.#path(segment));
  }

  /** What was set aside, for operators. */
  get rejected(): RejectedLines {
    return this.#rejected;
  }

  /** How many lines are set aside: what they cost is not known, or not charged. A file that can't be read counts as one. */
  rejectedLines(): number {
    return this.#rejected.count;
  }

  /**
   * Keeps lines of a segment apart that can't be recorded, exactly as they are, when the segment itself goes.
   *
   * @returns where each of them is now. @throws when they can't be written: then the segment must stay.
   */
  setAside(segment: Segment, lines: readonly Uint8Array[]): Promise<readonly RejectedPosition[]> {
    return this.#rejected.add(nameOf(segment), lines);
  }

  /** Keeps a segment apart that can't be read. @returns the name that its file has now. */
  setSegmentAside(segment: Segment): Promise<string> {
    return this.#rejected.addSegment(nameOf(segment), this.#path(segment));
  }

  /** Says that so many lines of a segment are needed no more. A full segment goes when none of its lines is. */
  async release(segment: Segment, lines: number): Promise<void> {
    this.#unreleased.set(segment, (this.#unreleased.get(segment) ?? 0) - lines);
    await this.#dropIfDone(segment);
  }

  /** How many files are still needed. */
  get segments(): number {
    return this.#unreleased.size;
  }

  /** The path of a segment, for messages. */
  pathOf(segment: Segment): string {
    return this.#path(segment);
  }

  /**
   * Whether requests can be recorded: the folder is there, what is written goes to a file in it, and the last write worked, or one
   * would work now. To be called every second or so.
   *
   * @throws {JournalError} when they can't.
   */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  /** Ends the segment that is being written. */
  async close(): Promise<void> {
    await this.#inTurn(() => this.#endSegment());
  }

  async #writeWaiting(): Promise<Segment> {
    const batch = this.#waiting;
    this.#waiting = [];
    await this.#write(Buffer.from(batch.map(encodeLine).join("")));
    this.#unreleased.set(this.#segment, (this.#unreleased.get(this.#segment) ?? 0) + batch.length);
    return this.#segment;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    try {
      // What a failed write left must go first: what came behind it would be cut off with it.
      if (this.#isOverlong || this.#isUnsound) await this.#cutBack();
      const file = this.#file ?? (await this.#begin());
      this.#isOverlong = true;
      file.write(bytes);
      if (this.#sync) await this.#datasync(file);
      this.#bytes += bytes.length;
      this.#isOverlong = false;
      this.#failure = null;
    } catch (error) {
      this.#failure = error;
      await this.#cutBack().catch(NOTHING);
      throw error;
    }
  }

  async #datasync(file: JournalFile): Promise<void> {
    try {
      await file.datasync();
    } catch (error) {
      // What the operating system still holds of the file is not known any more, and the next call would not tell.
      this.#isUnsound = true;
      throw error;
    }
  }

  /** Takes back what a failed write left. @throws when that does not work; nothing is written until it has. */
  async #cutBack(): Promise<void> {
    if (this.#file === null) return;
    if (this.#isOverlong) {
      await this.#file.truncate(this.#bytes);
      this.#isOverlong = false;
      // What was refused must not come back by a power loss. If the disk does not do it, nothing else will.
      if (this.#sync) await this.#datasync(this.#file).catch(NOTHING);
    }
    if (this.#isUnsound) await this.#endSegment();
  }

  async #begin(): Promise<JournalFile> {
    for (;;) {
      try {
        this.#file = await this.#files.create(this.#path(this.#segment));
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
        // Something of that name has come there since the start.
        this.#segment++;
        continue;
      }
      this.#openedMs = performance.now();
      // A file whose name is lost is lost.
      this.#isUnsound = this.#sync;
      if (this.#sync) await this.#files.syncFolder(this.#folder);
      this.#isUnsound = false;
      return this.#file;
    }
  }

  async #endIfFull(): Promise<void> {
    const isFull = this.#bytes >= SEGMENT_BYTES || performance.now() - this.#openedMs > SEGMENT_MS;
    // A file that can't be closed or deleted is no matter of the entries that are in it.
    if (isFull) await this.#endSegment().catch(NOTHING);
  }

  async #endSegment(): Promise<void> {
    if (this.#file === null) return;
    const file = this.#file;
    const ended = this.#segment;
    if (this.#isOverlong) await file.truncate(this.#bytes).catch(NOTHING);
    this.#file = null;
    this.#bytes = 0;
    this.#isOverlong = false;
    this.#isUnsound = false;
    this.#segment++;
    await file.close();
    await this.#dropIfDone(ended);
  }

  async #dropIfDone(segment: Segment): Promise<void> {
    if (segment === this.#segment || (this.#unreleased.get(segment) ?? 0) !== 0) return;
    this.#unreleased.delete(segment);
    await this.#files.remove(this.#path(segment));
  }

  async #check(): Promise<void> {
    try {
      await this.#requireOwnFile();
      // With requests turned away nothing else would find out that there is room again.
      if (this.#failure !== null) await this.#inTurn(() => this.#probe());
    } catch (cause) {
      if (cause instanceof JournalError) throw cause;
      throw new JournalError(
        `The journal in ${this.#folder} cannot be written (${reasonOf(cause)}). Requests are refused until it can be written again: ` +
          "free space on its disk, or make it writable.",
        { cause },
      );
    }
  }

  /** What is written to a file without a name is lost with the process. @throws {JournalError} */
  async #requireOwnFile(): Promise<void> {
    const file = this.#file;
    const path = this.#path(this.#segment);
    const isElsewhere = file !== null && (await this.#files.identityAt(path)) !== file.identity;
    let wasRemoved = false;
    if (isElsewhere) {
      await this.#inTurn(async () => {
        // It may also have been ended in the meantime.
        if (this.#file !== file) return;
        wasRemoved = true;
        await this.#endSegment();
      });
    }
    if ((await this.#files.identityAt(this.#folder)) === null) {
      throw new JournalError(
        `The journal folder ${this.#folder} is missing. Requests are refused until it is restored: ` +
          "restore it, or restart the service with another OSTIARY_DATA_DIR.",
      );
    }
    if (wasRemoved) {
      throw new JournalError(
        `The journal file ${path} was removed while in use; the service continues in a new file. ` +
          "Entries that are not in the database yet are lost if this process ends first.",
      );
    }
  }

  /** Writes as much as some requests do, and takes it back. Zeros without a newline are no line, should this process end in between. */
  async #probe(): Promise<void> {
    if (this.#failure === null) return;
    const bytes = this.#bytes;
    await this.#write(PROBE);
    this.#bytes = bytes;
    this.#isOverlong = true;
    await this.#cutBack();
  }

  /** Between writes. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(NOTHING);
    return done;
  }

  #path(segment: Segment): string {
    return join(this.#folder, `${nameOf(segment)}.ndjson`);
  }
}

/** The machine has no more of something. That says nothing of the file. */
const OVERLOADED = new Set(["EMFILE", "ENFILE", "ENOMEM"]);
const FULL = new Set(["ENOSPC", "EDQUOT"]);

/** @throws when the folder can't be written to. A full disk does not count: replaying what is there makes room. */
async function tryToWrite(folder: string, files: JournalFiles): Promise<void> {
  const path = join(folder, TRIAL_NAME);
  try {
    await files.remove(path);
    const file = await files.create(path);
    await file.close();
    await files.remove(path);
  } catch (error) {
    if (!FULL.has(codeOf(error) ?? "")) throw error;
  }
}

function nameOf(segment: Segment): string {
  return String(segment).padStart(12, "0");
}

/** Without the path, which the messages name themselves. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split(",", 1)[0] ?? message;
}

function whoWrites(): string {
  const uid = process.getuid?.();
  return uid === undefined ? "the service" : `user ${uid}`;
}

const NOTHING = () => {};
