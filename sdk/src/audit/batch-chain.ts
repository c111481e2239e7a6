import { bytesOfHex, linkDigest, sha256 } from "./digest.ts";

const DIGEST_BYTES = 32;

/** A batch with entries whose digests are not known yet. */
interface OpenBatch {
  readonly entries: number;
  readonly digest: string;
  /** The digests of exported entries, in order of their ids. */
  readonly exported: Promise<Uint8Array>[];
  /** The digests of the others, by their places in order of ids. */
  readonly leftOut: Map<number, Promise<Uint8Array>>;
}

interface CompleteBatch {
  readonly digest: string;
  /** The digest of its entries' digests; `null` once it is verified. */
  content: Uint8Array | null;
  /** Whether the next batch is verified, which needs this one's digest. */
  isCovered: boolean;
}

/** What differs in a batch: its digests don't fit its entries, or lines contradict each other. */
export type OnDifference = (batch: number) => void;

/**
 * An account's chain of batches, verified as their digests become known, in any order. Memory use is bounded by the incomplete batches and
 * those whose neighbours are not known yet.
 */
export class BatchChain {
  readonly #onDifference: OnDifference;
  readonly #open = new Map<number, OpenBatch>();
  /** Complete batches, kept until they and their successors are verified. */
  readonly #complete = new Map<number, CompleteBatch>();
  /** The batches that lines have named. */
  batches = 0;
  /** Those whose digest covers their entries and the previous digest. */
  linked = 0;
  first: number | null = null;
  head: { readonly batch: number; readonly digest: string } | null = null;

  constructor(onDifference: OnDifference) {
    this.#onDifference = onDifference;
  }

  /** The batches with missing digests. */
  get incomplete(): Iterable<number> {
    return this.#open.keys();
  }

  /** Adds the digest of an exported entry. Entries come in order of their ids. */
  async addExported(recorded: RecordedBatch, digest: Promise<Uint8Array>): Promise<void> {
    const open = this.#opened(recorded);
    if (open === null) return;
    open.exported.push(digest);
    await this.#completeIfWhole(recorded.batch, open);
  }

  /** Adds digests of entries that were left out, by their places. */
  async addLeftOut(
    recorded: RecordedBatch,
    digests: readonly { readonly place: number; readonly digest: Promise<Uint8Array> }[],
  ): Promise<void> {
    const open = this.#opened(recorded);
    if (open === null) return;
    for (const { place, digest } of digests) {
      const isNew = place >= 0 && place < open.entries && !open.leftOut.has(place);
      if (!isNew) return this.#onDifference(recorded.batch);
      open.leftOut.set(place, digest);
    }
    await this.#completeIfWhole(recorded.batch, open);
  }

  /** Adds a batch without any of its entries, because all were left out. */
  async addContent(recorded: RecordedBatch, content: string): Promise<void> {
    const open = this.#opened(recorded);
    if (open === null) return;
    if (open.exported.length + open.leftOut.size > 0) return this.#onDifference(recorded.batch);
    await this.#closed(recorded.batch, open.digest, bytesOfHex(content));
  }

  /** Adds the digest of the batch before the first. */
  async addPrevious(digest: string): Promise<void> {
    if (this.first === null) return;
    this.#complete.set(this.first - 1, { digest, content: null, isCovered: false });
    await this.#link(this.first);
  }

  #opened({ batch, entries, digest }: RecordedBatch): OpenBatch | null {
    const known = this.#open.get(batch);
    if (known !== undefined) {
      if (known.digest === digest && known.entries === entries) return known;
      this.#onDifference(batch);
      return null;
    }
    if (this.#complete.has(batch)) {
      this.#onDifference(batch);
      return null;
    }
    this.batches++;
    if (this.first === null || batch < this.first) this.first = batch;
    if (this.head === null || batch > this.head.batch) this.head = { batch, digest };
    const open = { entries, digest, exported: [], leftOut: new Map() };
    this.#open.set(batch, open);
    return open;
  }

  async #completeIfWhole(batch: number, { entries, digest, exported, leftOut }: OpenBatch): Promise<void> {
    if (exported.length + leftOut.size < entries) return;
    let next = 0;
    const inOrder = Array.from({ length: entries }, (_, place) => leftOut.get(place) ?? exported[next++]);
    const content = new Uint8Array(entries * DIGEST_BYTES);
    for (const [place, part] of (await Promise.all(inOrder)).entries()) {
      if (part !== undefined) content.set(part, place * DIGEST_BYTES);
    }
    await this.#closed(batch, digest, await sha256(content));
  }

  async #closed(batch: number, digest: string, content: Uint8Array): Promise<void> {
    this.#open.delete(batch);
    this.#complete.set(batch, { digest, content, isCovered: false });
    await this.#link(batch);
    await this.#link(batch + 1);
  }

  /** Verifies a batch's digest against its content and the previous digest, once both are known. */
  async #link(batch: number): Promise<void> {
    const own = this.#complete.get(batch);
    const previous = batch === 1 ? null : this.#complete.get(batch - 1);
    if (own === undefined || own.content === null || previous === undefined) return;
    if ((await linkDigest(previous?.digest ?? "", own.content)) === own.digest) this.linked++;
    else this.#onDifference(batch);
    own.content = null;
    if (own.isCovered) this.#complete.delete(batch);
    if (previous === null) return;
    previous.isCovered = true;
    if (previous.content === null) this.#complete.delete(batch - 1);
  }
}

/** A batch as a line names it. */
export interface RecordedBatch {
  readonly batch: number;
  readonly entries: number;
  readonly digest: string;
}
