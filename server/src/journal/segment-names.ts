/** A file of the journal, numbered in the order of writing. */
export type Segment = number;

/** The digits of a segment's number in the names of its files. */
const DIGITS = 12;
/** A file with a higher number is not a journal's. Numbers after it would soon have more than {@link DIGITS} digits. */
const MAX_SEGMENT = 9 * 10 ** (DIGITS - 1);
const SEGMENT_FILE = new RegExp(`^(\\d{${DIGITS}})\\.ndjson$`);
const REJECTED_FILE = new RegExp(`^(\\d{${DIGITS}})(?:-\\d+)?\\.rejected$`);
const MAX_REJECTED_FILES = 1_000;

/** The name of a segment's file, such as `000000000012.ndjson`. */
export function segmentFile(segment: Segment): string {
  return `${nameOf(segment)}.ndjson`;
}

/** The segment whose file has this name; `null` for another file. */
export function segmentOfFile(name: string): Segment | null {
  return numberIn(SEGMENT_FILE, name);
}

/** The names that a file with rejected lines of a segment may have: `000000000012.rejected`, or `000000000012-2.rejected` where that is taken. */
export function* rejectedFilesOf(segment: Segment): Generator<string> {
  const name = nameOf(segment);
  yield `${name}.rejected`;
  for (let number = 2; number <= MAX_REJECTED_FILES; number++) yield `${name}-${number}.rejected`;
}

/** The segment whose rejected lines a file with this name has; `null` for another file. */
export function segmentOfRejectedFile(name: string): Segment | null {
  return numberIn(REJECTED_FILE, name);
}

/** The first segment of a process that finds files with these names. Its number is above those of rejected files, too, so that their names refer to one segment. */
export function nextSegment(names: readonly string[]): Segment {
  const used = names.map((name) => segmentOfFile(name) ?? segmentOfRejectedFile(name) ?? 0);
  return Math.max(0, ...used.filter((number) => number <= MAX_SEGMENT)) + 1;
}

function nameOf(segment: Segment): string {
  return String(segment).padStart(DIGITS, "0");
}

function numberIn(form: RegExp, name: string): Segment | null {
  const digits = form.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}
