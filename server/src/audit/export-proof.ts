import { type EntryId, firstEntryIdAt } from "../contract/entry.ts";
import type { Database } from "../database/database.ts";
import type { StreamedRead } from "../database/reads.ts";
import type { ExportedStretch } from "./audit-log.ts";
import { type ExportPosition, type ProofPosition, proofCursorEnd, type WrittenProof } from "./cursor.ts";
import {
  PLACES_A_LINE,
  type ProofChunk,
  type ProvedSegment,
  type RecordedBatch,
  readBatch,
  readBatchUpTo,
  readDigest,
  readLeftOut,
  readOthers,
  readSegments,
} from "./export-proof-store.ts";
import { type EntryFilter, searchOf } from "./filter.ts";
import { batchesOf } from "./insert-all.ts";
import { entriesDeleted, type Removed, requireKept } from "./removed-entries.ts";

/** Entries that one statement reads: of the period, or of batches that need a proof. */
const ENTRIES_AT_ONCE = 5_000;
const PLACES_AT_ONCE = 10 * PLACES_A_LINE;

/**
 * Writes the lines of an export with its proof: what was asked for; each entry in order of its id, with what is left out of a batch
 * after the batch's newest entry; what is left out of the batches that end outside of the period; and the first and the last batch. The
 * order follows from the entries alone, so that an export is the same however often it was interrupted.
 */
export async function* provedLines(
  sql: Database,
  run: StreamedRead["run"],
  stretch: ExportedStretch,
  start: ExportPosition | null,
): AsyncGenerator<string> {
  const { accountId, filter } = stretch;
  let entry = start?.entry ?? beforeAll(filter);
  let position: ProofPosition = start?.proof ?? { first: 0n, last: 0n, written: null };
  let before: BatchBefore | null = null;
  let removedBefore: Removed | null = null;
  const { written } = position;
  if (start === null) {
    const { from, to } = filter;
    yield proofLine(JSON.stringify({ export: { from, to, filter: searchOf(filter) } }));
  }
  if (written === "end") return;
  if (written?.section !== "rest") yield* period();
  yield* rest();
  yield await end();

  /** The entries of the period, and what is left out of the batches that end in it. */
  async function* period(): AsyncGenerator<string> {
    if (written === null) yield* completed();
    else if (written !== "end") yield* continued(written);
    for (;;) {
      const { segments, isEnd, removed } = await run(async () => {
        const read = await readSegments(sql, stretch, entry, position, ENTRIES_AT_ONCE);
        await readBefore(read.segments.at(-1)?.first ?? position.first);
        return read;
      });
      // Before its first entry, an export has missed nothing.
      if (position.first !== 0n) requireKept(entry, removed, removedBefore);
      removedBefore = removed;
      const groups = batchesOf(
        segments,
        ({ needsProof, entries }) => (needsProof ? entries : 0),
        ENTRIES_AT_ONCE,
      );
      for (const group of groups) yield* segmentLines(group);
      if (isEnd) return;
    }
  }

  async function* segmentLines(segments: readonly ProvedSegment[]): AsyncGenerator<string> {
    const chunks = leftOut(segments.filter(({ needsProof }) => needsProof));
    let next = await chunks.next();
    for (const segment of segments) {
      entry = segment.entry;
      position = { first: segment.first, last: segment.last, written: null };
      if (segment.text !== "") yield segment.text;
      for (; next.done !== true && next.value.batch === segment.batch; next = await chunks.next()) {
        yield chunkLine("batch", next.value);
      }
    }
  }

  /** What is left out of the batches between the first and the last that end outside of the period. */
  async function* rest(): AsyncGenerator<string> {
    const { first, last } = position;
    let after = first - 1n;
    if (written !== null && written !== "end" && written.section === "rest") {
      yield* continued(written);
      after = written.batch;
    }
    while (after < last) {
      const batches = await run(() => readOthers(sql, stretch, after, last, ENTRIES_AT_ONCE));
      const newest = batches.at(-1);
      if (newest === undefined) return;
      for await (const chunk of leftOut(batches)) yield chunkLine("rest", chunk);
      after = newest.batch;
    }
  }

  async function end(): Promise<string> {
    const { first, last } = position;
    position = { first, last, written: "end" };
    if (last === 0n) return proofLine('{"end":{"first":null,"last":null,"previous":null}}');
    const { digest: previous } = await run(() => readBefore(first));
    // Without the digest before it, the first batch would seem to be changed.
    if (previous === null && first > 1n) throw entriesDeleted();
    return proofLine(JSON.stringify({ end: { first: Number(first), last: Number(last), previous } }));
  }

  /** Reads the digest before the first batch as soon as that is known: until the end of a long export, retention may delete both. */
  async function readBefore(first: bigint): Promise<BatchBefore> {
    if (before?.first !== first) before = { first, digest: await readDigest(sql, accountId, first - 1n) };
    return before;
  }

  /** The proof of the batch whose newest entry is the last that was written. */
  async function* completed(): AsyncGenerator<string> {
    const batch = await run(() => readBatchUpTo(sql, accountId, entry));
    if (batch === null) return;
    for await (const chunk of leftOutOf(batch, 0)) yield chunkLine("batch", chunk);
  }

  /** The rest of a batch's proof after its last line that was written. */
  async function* continued({ section, batch, chunk }: WrittenProof): AsyncGenerator<string> {
    const recorded = await run(() => readBatch(sql, accountId, batch));
    if (recorded === null) return;
    for await (const next of leftOutOf(recorded, (chunk + 1) * PLACES_A_LINE)) yield chunkLine(section, next);
  }

  /** What is left out of some batches, in their order. */
  async function* leftOut(batches: readonly RecordedBatch[]): AsyncGenerator<ProofChunk> {
    const [single] = batches;
    if (single === undefined) return;
    if (batches.length === 1) return yield* leftOutOf(single, 0);
    const byBatch = new Map(batches.map(({ batch }): [bigint, ProofChunk[]] => [batch, []]));
    const chunks = await run(() => readLeftOut(sql, stretch, batches, 0, ENTRIES_AT_ONCE));
    for (const chunk of chunks) byBatch.get(chunk.batch)?.push(chunk);
    for (const ofBatch of byBatch.values()) yield* ofBatch;
  }

  /** What is left out of one batch, which may have very many entries. */
  async function* leftOutOf(batch: RecordedBatch, fromPlace: number): AsyncGenerator<ProofChunk> {
    for (let place = fromPlace; place < batch.entries; place += PLACES_AT_ONCE) {
      yield* await run(() => readLeftOut(sql, stretch, [batch], place, PLACES_AT_ONCE));
    }
  }

  function chunkLine(section: WrittenProof["section"], proof: ProofChunk): string {
    const { batch, entries, digest, chunk, content } = proof;
    position = { ...position, written: { section, batch, chunk } };
    const proved = content === null ? `"left_out":${proof.leftOut}` : `"content":"${content}"`;
    return proofLine(`{"batch":${batch},"entries":${entries},"digest":"${digest}",${proved}}`);
  }

  function proofLine(proof: string): string {
    return `{"proof":${proof},"cursor":"${stretch.cursorStart}${entry}${proofCursorEnd(position)}"}\n`;
  }
}

/** The digest of the batch before the first one of an export, in hexadecimal. */
interface BatchBefore {
  readonly first: bigint;
  readonly digest: string | null;
}

/** An id before all those of the period, in the form of an entry's id. */
function beforeAll({ from }: EntryFilter): EntryId {
  return `${firstEntryIdAt(from ?? new Date(0)).slice(0, 14)}7000-0000-000000000000` as EntryId;
}
