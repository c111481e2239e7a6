import { createHash } from "node:crypto";
import { join } from "node:path";
import type { JournalFiles } from "./file-system.ts";
import { splitLines } from "./journal-line.ts";
import { rejectedFilesOf, type Segment, segmentOfRejectedFile } from "./segment-names.ts";

const NEWLINE = Buffer.from("\n");

/** The position of a rejected line. */
interface RejectedPosition {
  /** The name of the file in the journal's folder. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
}

/** A rejected line. */
export interface RejectedLine extends RejectedPosition {
  /** The id depends on the content only, not on the position. */
  readonly id: string;
  /** The line exactly as in the journal, without its newline. */
  readonly bytes: Uint8Array;
}

/** A rejected file that can't be read, or a folder. */
export interface RejectedFile {
  /** The path of the file or folder. */
  readonly file: string;
  /** Why it cannot be read. */
  readonly problem: string;
}

/**
 * Journal lines that could not be read or recorded, in `*.rejected` files with the format of segments. They are kept until an
 * operator replays or discards them.
 */
export class RejectedLines {
  readonly #folder: string;
  readonly #files: JournalFiles;
  /** The number of lines by file. A file that can't be read counts as one line. */
  readonly #counts = new Map<string, number>();
  /** Lines and segments that could not be moved to a rejected file, for example because the disk is full. */
  readonly #unwritten = new Set<string>();
  /** Ends with the last change, so that changes run one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(folder: string, files: JournalFiles) {
    this.#folder = folder;
    this.#files = files;
  }

  static async open(folder: string, files: JournalFiles): Promise<RejectedLines> {
    const rejected = new RejectedLines(folder, files);
    await rejected.list();
    return rejected;
  }

  /** The number of rejected lines. */
  get count(): number {
    let count = this.#unwritten.size;
    for (const lines of this.#counts.values()) count += lines;
    return count;
  }

  /** Reads all rejected lines from the disk, because an operator may have edited or removed a file. */
  list(): Promise<{ readonly lines: readonly RejectedLine[]; readonly files: readonly RejectedFile[] }> {
    return this.#inTurn(async () => {
      const lines: RejectedLine[] = [];
      const files: RejectedFile[] = [];
      const names = (await this.#files.names(this.#folder))
        .filter((name) => segmentOfRejectedFile(name) !== null)
        .sort();
      this.#counts.clear();
      for (const file of names) {
        try {
          const found = await this.#linesOf(file);
          lines.push(...found);
          this.#counts.set(file, found.length);
        } catch (error) {
          files.push({ file, problem: problemOf(error) });
          this.#counts.set(file, 1);
        }
      }
      return { lines, files };
    });
  }

  /**
   * Adds lines of a segment that can't be recorded, before the segment is dropped. Lines that an interrupted replay has added before are
   * not added again.
   *
   * @returns the position of each line. @throws if they can't be written. Then none of them is added, and the segment must stay.
   */
  add(segment: Segment, lines: readonly Uint8Array[]): Promise<readonly RejectedPosition[]> {
    return this.#inTurn(async () => {
      const keys = lines.map(keyOf);
      for (const key of keys) this.#unwritten.add(key);
      const { file, present } = await this.#fileFor(segment);
      const all = [...present];
      const numbers = new Map(all.map((bytes, index) => [keyOf(bytes), index + 1]));
      const positions = lines.map((bytes, index) => {
        const key = keys[index] ?? "";
        const line = numbers.get(key) ?? all.push(bytes);
        numbers.set(key, line);
        return { file, line };
      });
      if (all.length > present.length) await this.#write(file, all);
      for (const key of keys) this.#unwritten.delete(key);
      return positions;
    });
  }

  /** Renames a segment that can't be read to a rejected file. @returns the new name. */
  addSegment(segment: Segment, path: string): Promise<string> {
    return this.#inTurn(async () => {
      this.#unwritten.add(path);
      for (const file of rejectedFilesOf(segment)) {
        if ((await this.#files.identityAt(join(this.#folder, file))) !== null) continue;
        await this.#files.rename(path, join(this.#folder, file));
        this.#counts.set(file, 1);
        this.#unwritten.delete(path);
        return file;
      }
      throw new Error(`too many rejected files of segment ${segment}`);
    });
  }

  /** Removes lines, wherever they are now. */
  remove(ids: ReadonlySet<string>): Promise<void> {
    return this.#inTurn(async () => {
      for (const file of [...this.#counts.keys()]) {
        const found = await this.#linesOf(file).catch(() => null);
        const left = found?.flatMap(({ id, bytes }) => (ids.has(id) ? [] : [bytes]));
        // A file that can't be read now stays as it is.
        if (left !== undefined && left.length !== found?.length) await this.#write(file, left);
      }
    });
  }

  async #write(file: string, lines: readonly Uint8Array[]): Promise<void> {
    const path = join(this.#folder, file);
    if (lines.length === 0) {
      await this.#files.remove(path);
      this.#counts.delete(file);
      // A power loss must not bring back lines that an operator has discarded.
      await this.#files.syncFolder(this.#folder);
      return;
    }
    await this.#files.replace(path, Buffer.concat(lines.flatMap((bytes) => [bytes, NEWLINE])));
    this.#counts.set(file, lines.length);
  }

  /** A readable file for a segment's lines, with the lines that it has. */
  async #fileFor(segment: Segment): Promise<{ file: string; present: readonly Uint8Array[] }> {
    for (const file of rejectedFilesOf(segment)) {
      if ((await this.#files.identityAt(join(this.#folder, file))) === null) return { file, present: [] };
      const found = await this.#linesOf(file).catch(() => null);
      if (found !== null) return { file, present: found.map(({ bytes }) => bytes) };
    }
    throw new Error(`too many rejected files of segment ${segment}`);
  }

  async #linesOf(file: string): Promise<readonly RejectedLine[]> {
    const { lines, rest } = splitLines(await this.#files.read(join(this.#folder, file)));
    // An editor may have omitted the last newline. No line is cut off, because files are replaced atomically.
    const last = (lines.at(-1)?.number ?? 0) + 1;
    const all = rest.length === 0 ? lines : [...lines, { number: last, bytes: rest }];
    return all.map(({ number, bytes }) => ({ file, line: number, bytes, id: idOf(bytes) }));
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }
}

/** The id by which operators refer to a line. */
function idOf(bytes: Uint8Array): string {
  return keyOf(bytes).slice(0, 12);
}

function keyOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
