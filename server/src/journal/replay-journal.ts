import type { Logger } from "pino";
import type { AuditEntry, EntryId } from "../contract/entry.ts";
import { encodeEntry } from "../contract/entry-values.ts";
import { batchesOf, insertAll } from "../database/insert-all.ts";
import { reasonOf } from "../errors/problems.ts";
import type { Journal } from "./journal.ts";
import { decodeLine, withoutChecksum } from "./journal-line.ts";
import type { Segment } from "./segment-names.ts";

/** The number of rejected lines that are logged one by one. Further lines are counted. */
const MAX_NAMED = 20;

interface ReplayParts {
  readonly journal: Journal;
  /** Inserts entries in one transaction; harmless for those that the database has already. */
  readonly insert: (entries: readonly AuditEntry[]) => Promise<unknown>;
  /** Whether `insert` has left an entry out, which is to be recorded later. */
  readonly isLeftOut: (entry: AuditEntry) => boolean;
  readonly log: Logger;
}

/** A journal line with its entry. */
interface EntryLine {
  readonly bytes: Uint8Array;
  readonly entry: AuditEntry;
}

/** A line that cannot be recorded and so is rejected, with the reason. */
interface LineToReject {
  readonly bytes: Uint8Array;
  /** The number of the line in its segment; `null` for an entry of this process. */
  readonly number: number | null;
  readonly reason: string;
}

/** A line of a segment that an earlier process left. */
interface LeftLine extends EntryLine {
  readonly segment: Segment;
  readonly number: number;
}

/** What was found in the segments that an earlier process left. */
interface Findings {
  /** The requests that have begun and whose end was not found, by their ids. */
  readonly begun: Map<EntryId, LeftLine>;
  readonly toReject: (LineToReject & { readonly segment: Segment })[];
  /** The lines whose entries are recorded later. */
  readonly leftOut: LeftLine[];
  /** The segments whose files can't be read, with the reason. */
  readonly unreadable: Map<Segment, string>;
  /** Whether a line can't be read. */
  isDamaged: boolean;
}

/**
 * Records what an earlier process left in the journal: entries of ended requests, and entries of requests that it was answering
 * when it died. Lines that can't be read and entries that the database refuses are rejected: they stay in the journal folder.
 *
 * @returns the lines whose entries were left out, in their order. Their segments stay until these lines are released.
 * @throws if the database is down. Nothing is lost, and the next replay starts from the beginning.
 */
export async function replayJournal(
  parts: ReplayParts,
  leftover: readonly Segment[],
): Promise<readonly LeftLine[]> {
  const findings: Findings = {
    begun: new Map(),
    toReject: [],
    leftOut: [],
    unreadable: new Map(),
    isDamaged: false,
  };
  for (const segment of leftover) await recordEnded(parts, segment, findings);
  await recordLost(parts, findings);
  // Segments are dropped last, because a request may begin in one and end in another.
  for (const segment of leftover) await removeSegment(parts, segment, findings);
  warnOfRejected(parts);
  return findings.leftOut;
}

/** Records the ended requests of a segment, and adds to the findings what else is in it. */
async function recordEnded(parts: ReplayParts, segment: Segment, findings: Findings): Promise<void> {
  const { journal, log } = parts;
  const content = await journal.read(segment);
  if (content.problem !== null) {
    findings.unreadable.set(segment, content.problem);
    return;
  }
  const ended: LeftLine[] = [];
  for (const { number, bytes, content: line } of content.lines) {
    if (line.kind === "unreadable") {
      findings.isDamaged = true;
      findings.toReject.push({ segment, bytes, number, reason: line.problem });
      continue;
    }
    const readable = { segment, number, bytes: withoutChecksum(bytes), entry: line.entry };
    if (line.kind === "begun") findings.begun.set(line.entry.id, readable);
    else {
      ended.push(readable);
      findings.begun.delete(line.entry.id);
    }
  }
  await insertOrReject(parts, ended, findings);
  log.info({ segment, entries: ended.length, tornBytes: content.tornBytes }, "replayed a journal segment");
}

/** Records the requests that have only begun as lost with their process, if it is certain that the journal does not contain their ends. */
async function recordLost(parts: ReplayParts, findings: Findings): Promise<void> {
  const { begun, toReject, unreadable, isDamaged } = findings;
  // A rejected line decides about its request. The segment of the beginning may have been kept for lines of other requests.
  for (const id of await rejectedRequests(parts.journal)) begun.delete(id);
  const lost = [...begun.values()];
  if (isDamaged || unreadable.size > 0) {
    // An unreadable line may hold the end of such a request. Recorded as lost, the request could no longer be charged.
    const reason = "the end of this request may be in an unreadable line";
    for (const line of lost) toReject.push({ ...line, reason });
    return;
  }
  await insertOrReject(parts, lost, findings);
  if (lost.length > 0)
    parts.log.warn({ requests: lost.length }, "requests were lost with an earlier process");
}

async function insertOrReject(
  { insert, isLeftOut }: ReplayParts,
  lines: readonly LeftLine[],
  { toReject, leftOut }: Findings,
): Promise<void> {
  for (const { item, reason } of await insertLines(lines, insert))
    toReject.push({ ...item, reason: refusedBecause(reason) });
  // There may be more lines than a call may have arguments.
  for (const line of lines) if (isLeftOut(line.entry)) leftOut.push(line);
}

/** Deletes a replayed segment unless lines of it are left out, or moves it to the rejected ones if it can't be read. */
async function removeSegment(
  parts: ReplayParts,
  segment: Segment,
  { toReject, leftOut, unreadable }: Findings,
): Promise<void> {
  const { journal, log } = parts;
  const problem = unreadable.get(segment);
  const lines = toReject.filter((line) => line.segment === segment);
  const left = leftOut.filter((line) => line.segment === segment);
  try {
    if (problem === undefined) await dropSegment(parts, segment, lines, left.length);
    else await rejectSegment(parts, segment, problem);
  } catch (error) {
    // The segment is replayed again at the next start, which is harmless.
    log.error({ ...reasonOf(error), file: journal.pathOf(segment) }, "a journal segment cannot be removed");
  }
}

/** The requests that rejected lines are about. */
async function rejectedRequests(journal: Journal): Promise<readonly EntryId[]> {
  if (journal.rejectedLines() === 0) return [];
  const { lines } = await journal.rejected.list();
  return lines.flatMap(({ bytes }) => {
    const line = decodeLine(bytes);
    return line.kind === "unreadable" ? [] : line.entry.id;
  });
}

function warnOfRejected({ journal, log }: ReplayParts): void {
  const lines = journal.rejectedLines();
  if (lines === 0) return;
  log.error(
    { lines },
    "the journal has rejected lines, whose requests are not recorded or charged. " +
      'Look at them with the operator\'s command "journal list", mend and replay them, or discard them',
  );
}

/** Deletes a segment unless lines of it are left out, but keeps the lines that can't be recorded. */
async function dropSegment(
  parts: ReplayParts,
  segment: Segment,
  toReject: readonly LineToReject[],
  leftOut: number,
): Promise<void> {
  // One more than what is left out: it is released once no other line needs the segment.
  parts.journal.hold(segment, leftOut + 1);
  await rejectLines(parts, segment, inOrder(toReject));
  await parts.journal.release(segment, 1);
}

async function rejectSegment({ journal, log }: ReplayParts, segment: Segment, reason: string): Promise<void> {
  const file = journal.pathOf(segment);
  const keptIn = await journal.rejected.addSegment(segment, file);
  log.error(
    { file, reason, keptIn },
    "a journal file cannot be read and was rejected: make it readable, or remove it if it is not a journal file",
  );
}

function inOrder(lines: readonly LineToReject[]): readonly LineToReject[] {
  return lines.toSorted((a, b) => (a.number ?? 0) - (b.number ?? 0));
}

/** Inserts entries by batches. @returns what the database refused. */
export async function insertLines<Line extends EntryLine>(
  lines: readonly Line[],
  insert: (entries: readonly AuditEntry[]) => Promise<unknown>,
): Promise<readonly { readonly item: Line; readonly reason: string }[]> {
  const refused: { readonly item: Line; readonly reason: string }[] = [];
  for (const batch of batchesOf(lines, ({ bytes }) => bytes.length)) {
    const outcome = await insertAll(batch, (part) => insert(part.map(({ entry }) => entry)));
    refused.push(...outcome.refused);
  }
  return refused;
}

/**
 * Rejects entries that the database refused while the service runs: writes their journal lines to a separate file, so that
 * the lines may be released.
 *
 * @throws if they can't be written. Then their lines must not be released, and are replayed at the next start.
 */
export async function rejectEntries(
  { journal, log }: Pick<ReplayParts, "journal" | "log">,
  refused: readonly { readonly segment: Segment; readonly entry: AuditEntry; readonly reason: string }[],
): Promise<void> {
  for (const segment of new Set(refused.map((item) => item.segment))) {
    const ofSegment = refused.filter((item) => item.segment === segment);
    const lines = ofSegment.map(({ entry, reason }) => ({
      bytes: Buffer.from(encodeEntry(entry)),
      number: null,
      reason: refusedBecause(reason),
    }));
    await rejectLines({ journal, log }, segment, lines);
  }
}

async function rejectLines(
  { journal, log }: Pick<ReplayParts, "journal" | "log">,
  segment: Segment,
  lines: readonly LineToReject[],
): Promise<void> {
  if (lines.length === 0) return;
  const contents = lines.map(({ bytes }) => bytes);
  const positions = await journal.rejected.add(segment, contents);
  const file = journal.pathOf(segment);
  for (const [index, { number, reason }] of lines.slice(0, MAX_NAMED).entries()) {
    const line = number === null ? {} : { line: number };
    log.error({ file, ...line, reason, keptIn: positions[index] }, "a journal line was rejected");
  }
  const more = lines.length - MAX_NAMED;
  if (more > 0) log.error({ file, lines: more }, "further lines of this file were rejected");
}

function refusedBecause(reason: string): string {
  return `the database refuses it: ${reason}`;
}
