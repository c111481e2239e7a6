import { type EntryId, firstEntryIdAt } from "../contract/entry.ts";
import type { ExportedStretch } from "./audit-log.ts";
import {
  type ExportPosition,
  type ProofPosition,
  proofCursorEnd,
  type WrittenProof,
} from "./export-cursor.ts";
import {
  PLACES_A_LINE,
  type PostgresProofs,
  type ProofChunk,
  type ProvedSegment,
  type RecordedBatch,
} from "./export-proof-store.ts";
import type { EntryFilter } from "./filter.ts";

/** Runs a statement when it is the export's turn. */
export type RunPart = <Result>(part: () => Promise<Result>) => Promise<Result>;

/** Entries that one statement reads: of the period, or of batches that need a proof. */
const ENTRIES_AT_ONCE = 5_000;
const PLACES_AT_ONCE = 10 * PLACES_A_LINE;

/**
 * Writes the lines of an export with its proof: what was asked for; each entry in order of its id, with what is left out of a batch
 * after the batch's newest entry; what is left out of the batches that end outside of the period; and the first and the last batch. The
 * order follows from the entries alone, so that an export is the same however often it was interrupted.
 */
export async function* provedLines(
  proofs: PostgresProofs,
  run: RunPart,
  stretch: ExportedStretch,
  start: ExportPosition | null,
): AsyncGenerator<string> {
  const lines = new ProvedLines(proofs, run, stretch, start);
  if (start === null) yield lines.header();
  if (start?.proof?.written === "end") return;
  if (start?.proof?.written?.section !== "rest") yield* lines.period();
  yield* lines.rest();
  yield await lines.end();
}

class ProvedLines {
  readonly #proofs: PostgresProofs;
  readonly #run: RunPart;
  readonly #stretch: ExportedStretch;
  #entry: EntryId;
  #position: ProofPosition;

  constructor(proofs: PostgresProofs, run: RunPart, stretch: ExportedStretch, start: ExportPosition | null) {
    this.#proofs = proofs;
    this.#run = run;
    this.#stretch = stretch;
    this.#entry = start?.entry ?? beforeAll(stretch.filter);
    this.#position = start?.proof ?? { first: 0n, last: 0n, written: null };
  }

  header(): string {
    const { from, to } = this.#stretch.filter;
    return this.#line({ export: { from, to, filter: searchOf(this.#stretch.filter) } });
  }

  /** The entries of the period, and what is left out of the batches that end in it. */
  async *period(): AsyncGenerator<string> {
    const { written } = this.#position;
    if (written === null) yield* this.#completed(this.#entry);
    else if (written !== "end") yield* this.#continued(written);
    for (;;) {
      const { segments, isEnd } = await this.#run(() =>
        this.#proofs.readSegments(this.#stretch, this.#entry, this.#position, ENTRIES_AT_ONCE),
      );
      for (const group of grouped(segments, ({ batch }) => batch?.entries ?? 0)) yield* this.#segments(group);
      if (isEnd) return;
    }
  }

  async *#segments(segments: readonly ProvedSegment[]): AsyncGenerator<string> {
    const leftOut = this.#leftOut(segments.flatMap(({ batch }) => batch ?? []));
    let next = await leftOut.next();
    for (const { text, entry, batch, first, last } of segments) {
      this.#entry = entry;
      this.#position = { first, last, written: null };
      if (text !== "") yield text;
      for (; next.done !== true && next.value.batch === batch?.batch; next = await leftOut.next()) {
        yield this.#chunk("batch", next.value);
      }
    }
  }

  /** What is left out of the batches between the first and the last that end outside of the period. */
  async *rest(): AsyncGenerator<string> {
    const { first, last, written } = this.#position;
    let after = first - 1n;
    if (written !== null && written !== "end" && written.section === "rest") {
      yield* this.#continued(written);
      after = written.batch;
    }
    while (after < last) {
      const batches = await this.#run(() =>
        this.#proofs.readOthers(this.#stretch, after, last, ENTRIES_AT_ONCE),
      );
      const end = batches.at(-1);
      if (end === undefined) return;
      for await (const chunk of this.#leftOut(batches)) yield this.#chunk("rest", chunk);
      after = end.batch;
    }
  }

  async end(): Promise<string> {
    const { first, last } = this.#position;
    this.#position = { first, last, written: "end" };
    if (last === 0n) return this.#line({ end: { first: null, last: null, previous: null } });
    const previous = await this.#run(() => this.#proofs.readDigest(this.#stretch.accountId, first - 1n));
    return this.#line({ end: { first: Number(first), last: Number(last), previous } });
  }

  /** The proof of the batch whose newest entry is the last that was written. */
  async *#completed(entry: EntryId): AsyncGenerator<string> {
    const batch = await this.#run(() => this.#proofs.readBatchUpTo(this.#stretch.accountId, entry));
    if (batch === null) return;
    for await (const chunk of this.#leftOutOf(batch, 0)) yield this.#chunk("batch", chunk);
  }

  /** The rest of a batch's proof after its last line that was written. */
  async *#continued({ section, batch, chunk }: WrittenProof): AsyncGenerator<string> {
    const recorded = await this.#run(() => this.#proofs.readBatch(this.#stretch.accountId, batch));
    if (recorded === null) return;
    for await (const next of this.#leftOutOf(recorded, (chunk + 1) * PLACES_A_LINE))
      yield this.#chunk(section, next);
  }

  /** What is left out of some batches, in their order. */
  async *#leftOut(batches: readonly RecordedBatch[]): AsyncGenerator<ProofChunk> {
    const [single] = batches;
    if (single === undefined) return;
    if (batches.length === 1) return yield* this.#leftOutOf(single, 0);
    const chunks = await this.#run(() =>
      this.#proofs.readLeftOut(this.#stretch, batches, 0, ENTRIES_AT_ONCE),
    );
    const byBatch = new Map<bigint, ProofChunk[]>();
    for (const chunk of chunks) {
      const known = byBatch.get(chunk.batch);
      if (known === undefined) byBatch.set(chunk.batch, [chunk]);
      else known.push(chunk);
    }
    for (const { batch } of batches) yield* byBatch.get(batch) ?? [];
  }

  /** What is left out of one batch, which may have very many entries. */
  async *#leftOutOf(batch: RecordedBatch, fromPlace: number): AsyncGenerator<ProofChunk> {
    for (let place = fromPlace; place < batch.entries; place += PLACES_AT_ONCE) {
      yield* await this.#run(() => this.#proofs.readLeftOut(this.#stretch, [batch], place, PLACES_AT_ONCE));
    }
  }

  #chunk(
    section: WrittenProof["section"],
    { batch, entries, digest, chunk, leftOut, content }: ProofChunk,
  ): string {
    this.#position = { ...this.#position, written: { section, batch, chunk } };
    const told = content === null ? `"left_out":${leftOut}` : `"content":"${content}"`;
    return `{"proof":{"batch":${batch},"entries":${entries},"digest":"${digest}",${told}},${this.#cursor()}}\n`;
  }

  #line(proof: Readonly<Record<string, unknown>>): string {
    return `{"proof":${JSON.stringify(proof)},${this.#cursor()}}\n`;
  }

  #cursor(): string {
    return `"cursor":"${this.#stretch.cursorStart}${this.#entry}${proofCursorEnd(this.#position)}"`;
  }
}

/** Divides a list so that the sizes of each part sum up to a limit, or the part has one item. */
function* grouped<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Generator<readonly Item[]> {
  let group: Item[] = [];
  let size = 0;
  for (const item of items) {
    size += sizeOf(item);
    if (group.length > 0 && size > ENTRIES_AT_ONCE) {
      yield group;
      group = [];
      size = sizeOf(item);
    }
    group.push(item);
  }
  if (group.length > 0) yield group;
}

/** An id before all those of the period, in the form of an entry's id. */
function beforeAll({ from }: EntryFilter): EntryId {
  return `${firstEntryIdAt(from ?? new Date(0)).slice(0, 14)}7000-0000-000000000000` as EntryId;
}

function statusText(status: NonNullable<EntryFilter["status"]>): string {
  if (status === "error") return status;
  return status.from === status.to ? `${status.from}` : `${status.from / 100}xx`;
}

/** The filter's parameters, without the period. */
function searchOf(filter: EntryFilter): Readonly<Record<string, string>> {
  const { key, model, upstream, status, errorCode, source } = filter;
  const given = {
    key: key === null ? null : "id" in key ? key.id : key.keyId,
    model,
    upstream,
    status: status === null ? null : statusText(status),
    error_code: errorCode,
    source,
  };
  return Object.fromEntries(
    Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== null),
  );
}
