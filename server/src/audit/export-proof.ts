import { type EntryId, firstEntryIdAt } from "../contract/entry.ts";
import type { Database } from "../database/database.ts";
import { batchesOf } from "../database/insert-all.ts";
import type { StreamedRead } from "../database/reads.ts";
import { type ExportPosition, type ProofPosition, proofCursorEnd, type WrittenProof } from "./cursor.ts";
import type { ExportPlan } from "./export-plan.ts";
import {
  PLACES_PER_LINE,
  type ProofChunk,
  type ProvedSegment,
  type RecordedBatch,
  readBatch,
  readBatchUpTo,
  readLeftOut,
  readOthers,
  readSegments,
} from "./export-proof-store.ts";
import { type EntryFilter, searchOf } from "./filter.ts";
import { entriesDeleted, type Removed, readBatchDigest, requireKept } from "./removed-entries.ts";

/** Entries that one statement reads: of the period, or of batches that need a proof. */
const ENTRIES_AT_ONCE = 5_000;
const PLACES_AT_ONCE = 10 * PLACES_PER_LINE;

/**
 * An export with its proof. Its lines are, in this order: what was asked for; each entry in the order of ids, with what is left out of a batch
 * after the batch's newest entry; what is left out of the batches that end outside of the period; and the first and the last batch. The order
 * follows from the entries alone, so that an export is the same however often it was interrupted.
 */
export class ProvedExport {
  readonly #sql: Database;
  readonly #run: StreamedRead["run"];
  readonly #plan: ExportPlan;
  readonly #isNew: boolean;
  /** The last entry that was read: all lines up to it are written. */
  #entry: EntryId;
  /** What is written of the proof. The cursor of each line consists of this and the entry. */
  #position: ProofPosition;
  #before: BatchBefore | null = null;
  /** What retention had deleted when the last entries were read; `null` before that. */
  #removed: Removed | null = null;

  /**
   * @param run runs each read of the database when it is its turn.
   * @param start where the export continues; `null`: at its beginning.
   */
  constructor(sql: Database, run: StreamedRead["run"], plan: ExportPlan, start: ExportPosition | null) {
    this.#sql = sql;
    this.#run = run;
    this.#plan = plan;
    this.#isNew = start === null;
    this.#entry = start?.entry ?? beforeAll(plan.filter);
    this.#position = start?.proof ?? { first: 0n, last: 0n, written: null };
  }

  /** The lines from the start on. Call it once. */
  async *lines(): AsyncGenerator<string> {
    const { written } = this.#position;
    if (this.#isNew) {
      const { from, to } = this.#plan.filter;
      yield this.#proofLine(JSON.stringify({ export: { from, to, filter: searchOf(this.#plan.filter) } }));
    }
    if (written === "end") return;
    if (written?.section === "rest") {
      yield* this.#chunksAfter(written);
      yield* this.#otherBatches(written.batch);
    } else {
      yield* written === null ? this.#proofOfLastBatch() : this.#chunksAfter(written);
      yield* this.#period();
      yield* this.#otherBatches(this.#position.first - 1n);
    }
    yield await this.#end();
  }

  /** The entries of the period, and what is left out of the batches that end in it. */
  async *#period(): AsyncGenerator<string> {
    for (;;) {
      const { segments, isEnd, removed } = await this.#run(async () => {
        const { first, last } = this.#position;
        const next = { after: this.#entry, first, last, limit: ENTRIES_AT_ONCE };
        const read = await readSegments(this.#sql, this.#plan, next);
        await this.#readBefore(read.segments.at(-1)?.first ?? first);
        return read;
      });
      // Before its first entry, an export has missed nothing.
      if (this.#position.first !== 0n) requireKept(this.#entry, removed, this.#removed);
      this.#removed = removed;
      const groups = batchesOf(
        segments,
        ({ needsProof, entries }) => (needsProof ? entries : 0),
        ENTRIES_AT_ONCE,
      );
      for (const group of groups) yield* this.#segmentLines(group);
      if (isEnd) return;
    }
  }

  async *#segmentLines(segments: readonly ProvedSegment[]): AsyncGenerator<string> {
    const chunks = this.#readChunks(segments.filter(({ needsProof }) => needsProof));
    let next = await chunks.next();
    for (const segment of segments) {
      this.#entry = segment.entry;
      this.#position = { first: segment.first, last: segment.last, written: null };
      if (segment.text !== "") yield segment.text;
      for (; next.done !== true && next.value.batch === segment.batch; next = await chunks.next()) {
        yield this.#chunkLine("batch", next.value);
      }
    }
  }

  /** What is left out of the batches between the first and the last that end outside of the period, after one of them. */
  async *#otherBatches(after: bigint): AsyncGenerator<string> {
    const { last } = this.#position;
    for (let newest = after; newest < last; ) {
      const span = { after: newest, upTo: last, maxEntries: ENTRIES_AT_ONCE };
      const batches = await this.#run(() => readOthers(this.#sql, this.#plan, span));
      const lastOfThese = batches.at(-1);
      if (lastOfThese === undefined) return;
      for await (const chunk of this.#readChunks(batches)) yield this.#chunkLine("rest", chunk);
      newest = lastOfThese.batch;
    }
  }

  /** The line with the first and the last batch. */
  async #end(): Promise<string> {
    const { first, last } = this.#position;
    this.#position = { first, last, written: "end" };
    if (last === 0n) return this.#proofLine('{"end":{"first":null,"last":null,"previous":null}}');
    const { digest: previous } = await this.#run(() => this.#readBefore(first));
    // Without the digest before it, the first batch would seem to be changed.
    if (previous === null && first > 1n) throw entriesDeleted();
    return this.#proofLine(JSON.stringify({ end: { first: Number(first), last: Number(last), previous } }));
  }

  /** Reads the digest before the first batch as soon as that is known: until the end of a long export, retention may delete both. */
  async #readBefore(first: bigint): Promise<BatchBefore> {
    if (this.#before?.first !== first) {
      const digest = await readBatchDigest(this.#sql, this.#plan.accountId, first - 1n);
      this.#before = { first, digest };
    }
    return this.#before;
  }

  /** The proof of the batch whose newest entry is the last that was written. */
  async *#proofOfLastBatch(): AsyncGenerator<string> {
    const batch = await this.#run(() => readBatchUpTo(this.#sql, this.#plan.accountId, this.#entry));
    if (batch === null) return;
    for await (const chunk of this.#readChunksOf(batch, 0)) yield this.#chunkLine("batch", chunk);
  }

  /** The proof of a batch after its last line that was written. */
  async *#chunksAfter({ section, batch, chunk }: WrittenProof): AsyncGenerator<string> {
    const recorded = await this.#run(() => readBatch(this.#sql, this.#plan.accountId, batch));
    if (recorded === null) return;
    for await (const next of this.#readChunksOf(recorded, (chunk + 1) * PLACES_PER_LINE))
      yield this.#chunkLine(section, next);
  }

  /** Reads what is left out of some batches, in their order. */
  async *#readChunks(batches: readonly RecordedBatch[]): AsyncGenerator<ProofChunk> {
    const [single] = batches;
    if (single === undefined) return;
    if (batches.length === 1) return yield* this.#readChunksOf(single, 0);
    const byBatch = new Map(batches.map(({ batch }): [bigint, ProofChunk[]] => [batch, []]));
    const all = { batches, fromPlace: 0, places: ENTRIES_AT_ONCE };
    const chunks = await this.#run(() => readLeftOut(this.#sql, this.#plan, all));
    for (const chunk of chunks) byBatch.get(chunk.batch)?.push(chunk);
    for (const ofBatch of byBatch.values()) yield* ofBatch;
  }

  /** Reads what is left out of one batch, which may have very many entries. */
  async *#readChunksOf(batch: RecordedBatch, fromPlace: number): AsyncGenerator<ProofChunk> {
    for (let place = fromPlace; place < batch.entries; place += PLACES_AT_ONCE) {
      const next = { batches: [batch], fromPlace: place, places: PLACES_AT_ONCE };
      yield* await this.#run(() => readLeftOut(this.#sql, this.#plan, next));
    }
  }

  #chunkLine(section: WrittenProof["section"], proof: ProofChunk): string {
    const { batch, entries, digest, chunk, content } = proof;
    this.#position = { ...this.#position, written: { section, batch, chunk } };
    const proved = content === null ? `"left_out":${proof.leftOut}` : `"content":"${content}"`;
    return this.#proofLine(`{"batch":${batch},"entries":${entries},"digest":"${digest}",${proved}}`);
  }

  #proofLine(proof: string): string {
    const cursor = `${this.#plan.cursorStart}${this.#entry}${proofCursorEnd(this.#position)}`;
    return `{"proof":${proof},"cursor":"${cursor}"}\n`;
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
