import { join } from "node:path";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { ANSWER_TIMEOUT_MS, withTimeout } from "../errors/deadline.ts";
import { Unavailable } from "../errors/failure.ts";
import { codeOf, fileReasonOf, fileRemedyOf } from "../errors/system-errors.ts";
import { fileSystem, type JournalFiles, requireWritableFolder } from "./file-system.ts";
import { decodeLine, encodeLine, type JournalLine, splitLines, type UnreadableLine } from "./journal-line.ts";
import { type AppendedLine, JournalWrite } from "./journal-write.ts";
import { OpenSegment } from "./open-segment.ts";
import { RejectedLines } from "./rejected-lines.ts";
import { nextSegment, type Segment, segmentFile, segmentOfFile } from "./segment-names.ts";
import { WorkQueue } from "./work-queue.ts";

/** A write that takes longer has failed: the disk does not answer. */
const WRITE_TIMEOUT_MS = ANSWER_TIMEOUT_MS;
const CHECK_TIMEOUT_MS = 2_000;
/** A journal that could not be written is usable again when these bytes fit on the disk. */
const PROBE = new Uint8Array(64 * 1024);
/** The system's codes for a machine that lacks a resource, which tell nothing about the file. */
const LACKS_RESOURCE = new Set(["EMFILE", "ENFILE", "ENOMEM"]);
const ignoreError = () => {};

/** A line of a segment, as it is read back. */
interface SegmentLine {
  /** The number of the line in its segment, from 1. */
  readonly number: number;
  /** The line as it is in the file, without its newline. */
  readonly bytes: Uint8Array;
  readonly content: JournalLine | UnreadableLine;
}

/** The content of a segment, or why its file can't be read. */
export type SegmentContent =
  | { readonly problem: null; readonly lines: readonly SegmentLine[]; readonly tornBytes: number }
  | { readonly problem: string };

interface JournalOptions {
  /** Created if it does not exist. */
  readonly folder: string;
  /** Whether an entry must have reached the disk (`true`) or only the operating system. */
  readonly sync: boolean;
  /** The file system by default. */
  readonly files?: JournalFiles;
}

/** The journal's folder can't be used. The message tells the operator in one line what to do. */
export class JournalError extends Unavailable {
  override readonly name = "JournalError";
}

/**
 * The node's write-ahead log of audit entries: append-only segments with one line for each request that begins or ends. An
 * appended line survives the process. Lines that are appended in one turn of the event loop share one write.
 *
 * A failed write leaves nothing: the segment is truncated to its previous length before the write is reported as failed, so that
 * a later {@link read} does not find refused lines. They stay only if truncating fails too, or while the disk does not answer.
 */
export class Journal {
  readonly #folder: string;
  readonly #sync: boolean;
  readonly #files: JournalFiles;
  /** The rejected lines, for operators. */
  readonly rejected: RejectedLines;
  /** The number of the open segment; while none is open, of the next one. */
  #segment: Segment;
  #open: OpenSegment | null = null;
  /**
   * The error of the last write that failed; `null` once a test write has succeeded since. A later write of a few lines does not clear it, because
   * that is no proof of enough space.
   */
  #failure: unknown = null;
  #checkFailed = false;
  #keepsSegments = false;
  /** The number of lines of each segment that are not released yet. Lines are counted before `append` resolves. */
  readonly #unreleased = new Map<Segment, number>();
  /** What is being written, and what is written next. */
  #current: JournalWrite | null = null;
  #next: JournalWrite | null = null;
  readonly #queue = new WorkQueue();
  #checking: Promise<void> | null = null;

  private constructor(options: JournalOptions, rejected: RejectedLines, firstSegment: Segment) {
    this.#folder = options.folder;
    this.#sync = options.sync;
    this.#files = options.files ?? fileSystem;
    this.rejected = rejected;
    this.#segment = firstSegment;
  }

  /**
   * Opens the journal. New entries go to a new segment. The last process's segments are for {@link replayJournal}.
   *
   * @throws {JournalError} when the folder can't be made or written to.
   */
  static async open(options: JournalOptions): Promise<{ journal: Journal; leftover: readonly Segment[] }> {
    const { folder, files = fileSystem } = options;
    try {
      await files.makeFolder(folder);
      await requireWritableFolder(folder, files);
      const names = await files.names(folder);
      const leftover = names.flatMap((name) => segmentOfFile(name) ?? []);
      const rejected = await RejectedLines.open(folder, files);
      return {
        journal: new Journal(options, rejected, nextSegment(names)),
        leftover: leftover.sort((a, b) => a - b),
      };
    } catch (cause) {
      throw new JournalError(
        `The journal folder ${folder} cannot be used (${fileReasonOf(cause)}). Every request is recorded there before it is answered. ` +
          (fileRemedyOf(cause) ??
            `Make it a folder that ${whoWrites()} can write to, or set OSTIARY_DATA_DIR to another data folder.`),
        { cause },
      );
    }
  }

  /** Adds a line to the next write. All lines of one turn of the event loop share one write. */
  append(line: JournalLine): AppendedLine {
    this.#next ??= this.#newWrite();
    this.#next.add(line);
    return this.#next;
  }

  /** Reads a segment of an earlier process. It leaves out an incomplete last line, whose request never ended for its client. */
  async read(segment: Segment): Promise<SegmentContent> {
    let bytes: Uint8Array;
    try {
      bytes = await this.#files.read(this.pathOf(segment));
    } catch (error) {
      if (LACKS_RESOURCE.has(codeOf(error) ?? "")) throw error;
      return { problem: fileReasonOf(error) };
    }
    const { lines, rest } = splitLines(bytes);
    return {
      problem: null,
      lines: lines.map((line) => ({ ...line, content: decodeLine(line.bytes) })),
      tornBytes: rest.length,
    };
  }

  /** Keeps a segment of an earlier process until as many of its lines are released. */
  hold(segment: Segment, lines: number): void {
    this.#unreleased.set(segment, lines);
  }

  /** The number of rejected lines, whose requests are not charged. A file that can't be read counts as one line. */
  rejectedLines(): number {
    return this.rejected.count;
  }

  /** Releases lines of a segment. A full segment is deleted when all its lines are released. */
  async release(segment: Segment, lines: number): Promise<void> {
    this.#unreleased.set(segment, (this.#unreleased.get(segment) ?? 0) - lines);
    await this.#dropIfDone(segment);
  }

  /**
   * From now on no segment is deleted, although its lines are released: the database has gone back, and may lack entries that it had. The
   * next start replays them.
   */
  keepSegments(): void {
    this.#keepsSegments = true;
  }

  /** Whether requests can be recorded, as far as the last write and the last check tell. */
  get isWritable(): boolean {
    return !this.#checkFailed && this.#failure === null;
  }

  /** The number of files that are still needed. */
  get segments(): number {
    return this.#unreleased.size;
  }

  /** The path of a segment. */
  pathOf(segment: Segment): string {
    return join(this.#folder, segmentFile(segment));
  }

  /**
   * Checks that requests can be recorded: the folder exists, the open file is in it, and since the last write that failed a test
   * write has succeeded. Call it about every second.
   *
   * @throws {JournalError} if they can't.
   */
  check(): Promise<void> {
    this.#refuseLate();
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null;
    });
    const checking = this.#checking;
    return withTimeout(CHECK_TIMEOUT_MS, () => checking).catch((error: unknown) => {
      this.#checkFailed = true;
      throw error instanceof JournalError ? error : this.#doesNotAnswer();
    });
  }

  /** Ends the current segment. */
  async close(): Promise<void> {
    await this.#queue.run(() => this.#endSegment());
  }

  #newWrite(): JournalWrite {
    const write = new JournalWrite();
    void this.#queue.run(() => this.#perform(write));
    return write;
  }

  /** Writes the lines that are appended up to the end of this turn of the event loop. Never rejects. */
  async #perform(write: JournalWrite): Promise<void> {
    await setImmediate();
    if (this.#next === write) this.#next = null;
    this.#current = write;
    const lines = write.takeLines();
    try {
      write.requireNotRefused();
      const bytes = Buffer.from(lines.map(encodeLine).join(""));
      await this.#writeToSegment((open) => open.append(bytes, () => write.requireNotRefused()));
      this.#unreleased.set(this.#segment, (this.#unreleased.get(this.#segment) ?? 0) + lines.length);
      write.accept(this.#segment);
    } catch (error) {
      write.refuse(error);
    }
    this.#current = null;
    if (this.#open?.isFull) await this.#endSegment().catch(ignoreError); // what it throws does not affect its entries
  }

  /** Refuses the lines that have waited too long for the disk, and those behind them. */
  #refuseLate(): void {
    if (this.#queue.busyMs < WRITE_TIMEOUT_MS) return;
    this.#failure = this.#doesNotAnswer();
    this.#current?.refuse(this.#failure);
    this.#next?.refuse(this.#failure);
    this.#next = null;
  }

  #doesNotAnswer(): JournalError {
    return new JournalError(
      `The disk of the journal in ${this.#folder} does not answer. Requests are refused until it does.`,
    );
  }

  /** Writes to the open segment, or to a new one. */
  async #writeToSegment(write: (open: OpenSegment) => Promise<void>): Promise<void> {
    try {
      if (this.#open?.isSound === false) await this.#repair();
      await write(this.#open ?? (await this.#beginSegment()));
    } catch (error) {
      this.#failure = error;
      await this.#repair().catch(ignoreError);
      throw error;
    }
  }

  /** Removes the remains of a failed write. @throws if that fails. Nothing is written until it has succeeded. */
  async #repair(): Promise<void> {
    if (this.#open === null || this.#open.isSound) return;
    await this.#open.cutBack();
    if (!this.#open.isSound) await this.#endSegment();
  }

  async #beginSegment(): Promise<OpenSegment> {
    for (;;) {
      try {
        this.#open = new OpenSegment(await this.#files.create(this.pathOf(this.#segment)), this.#sync);
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
        // Another process has created this file since the start.
        this.#segment++;
        continue;
      }
      await this.#open.syncName(() => this.#files.syncFolder(this.#folder));
      return this.#open;
    }
  }

  async #endSegment(): Promise<void> {
    const open = this.#open;
    if (open === null) return;
    const ended = this.#segment;
    await open.cutBackUnsynced();
    this.#open = null;
    this.#segment++;
    await open.close();
    await this.#dropIfDone(ended);
  }

  async #dropIfDone(segment: Segment): Promise<void> {
    if (this.#keepsSegments || segment === this.#segment || (this.#unreleased.get(segment) ?? 0) !== 0)
      return;
    this.#unreleased.delete(segment);
    await this.#files.remove(this.pathOf(segment));
  }

  async #check(): Promise<void> {
    try {
      await this.#requireOwnFile();
      // An old segment ends after its next write, but without requests there is none. It is ended here, because the journal must not keep for longer
      // what is in the database.
      if (this.#open?.isOld) {
        await this.#queue.run(async () => {
          // Another one may have been begun in the meantime.
          if (this.#open?.isFull) await this.#endSegment().catch(ignoreError);
        });
      }
      // While requests are refused, only a test write detects that the journal is writable again.
      if (this.#failure !== null) await this.#queue.run(() => this.#probe());
      this.#checkFailed = false;
    } catch (cause) {
      if (cause instanceof JournalError) throw cause;
      throw new JournalError(
        `The journal in ${this.#folder} cannot be written (${fileReasonOf(cause)}). Requests are refused until it can be written again. ` +
          (fileRemedyOf(cause) ?? "Make it writable."),
        { cause },
      );
    }
  }

  /** Lines in a file that was removed are lost with the process. @throws {JournalError} if the open file or folder was removed. */
  async #requireOwnFile(): Promise<void> {
    const open = this.#open;
    const path = this.pathOf(this.#segment);
    const isElsewhere = open !== null && (await this.#files.identityAt(path)) !== open.identity;
    let wasRemoved = false;
    if (isElsewhere) {
      await this.#queue.run(async () => {
        // The segment may also have ended in the meantime.
        if (this.#open !== open) return;
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

  /** Writes some bytes and removes them. Zeros without a newline are not a line, in case the process ends in between. */
  async #probe(): Promise<void> {
    if (this.#failure === null) return;
    await this.#writeToSegment((open) => open.probe(PROBE));
    this.#failure = null;
    await this.#repair();
  }
}

function whoWrites(): string {
  const uid = process.getuid?.();
  return uid === undefined ? "the service" : `user ${uid}`;
}
