import type { ExportedAuditEntry } from "../contract/audit.ts";
import { COVERED_FIELDS } from "../contract/audit-entry.ts";
import type { ChainPoint } from "../contract/management.ts";

/** A problem of an export. */
export interface ExportProblem {
  /**
   * - `changed`: the entries of a batch are not those that were recorded.
   * - `entries_missing`: entries of a batch are missing, also because the export was filtered.
   * - `batches_missing`: batches before or between the others are missing.
   * - `out_of_order`: a line is repeated or precedes an older one.
   * - `unreadable`: a line is not an entry with its position in the chain.
   * - `digest_differs`: the chain differs from the expected point.
   */
  readonly problem:
    | "changed"
    | "entries_missing"
    | "batches_missing"
    | "out_of_order"
    | "unreadable"
    | "digest_differs";
  /** The number of the batch, from 1; `null` if the problem has no particular batch. */
  readonly batch: number | null;
  /** The number of the line, from 1; `null` if the problem has no particular line. */
  readonly line: number | null;
}

/** The outcome of {@link verifyAuditExport}. */
export interface ExportVerification {
  /** Whether the export is complete and unmodified. */
  readonly ok: boolean;
  /** The number of entries in the export. */
  readonly entries: number;
  /** The number of batches in the export. */
  readonly batches: number;
  /** The number of the first batch; `null`: there are no entries. */
  readonly first: number | null;
  /** The end of the chain. Keep it: a later export must contain it. */
  readonly head: ChainPoint | null;
  /** The first 100 problems. */
  readonly problems: readonly ExportProblem[];
}

/** Facts about an export that are not in it. */
export interface VerifyExportOptions {
  /** A point that was kept earlier. Without one, a recomputed chain cannot be detected. */
  readonly expected?: ChainPoint | undefined;
  /**
   * The number of batches deleted at the end of their retention, as `audit.verify` returns it. Default 0: the export must begin
   * with the first batch. Otherwise the oldest remaining batch is verified only by those after it.
   */
  readonly removedBatches?: number | undefined;
}

const MAX_PROBLEMS = 100;
const DIGEST_BYTES = 32;
const DIGEST = /^[0-9a-f]{64}$/;

interface OpenBatch {
  readonly entries: number;
  readonly digest: string;
  readonly digests: Promise<ArrayBuffer>[];
}

/**
 * Verifies an export of the audit log (NDJSON) without the service. Finds entries that were changed, removed, added or reordered since
 * they were recorded. The export must be complete: not filtered, and from its beginning. Names of keys are not covered. Memory use is
 * bounded by the incomplete batches.
 *
 * @param lines the export's lines, without line breaks. Empty lines are skipped.
 */
export async function verifyAuditExport(
  lines: AsyncIterable<string> | Iterable<string>,
  { expected, removedBatches = 0 }: VerifyExportOptions = {},
): Promise<ExportVerification> {
  const chain = new ChainCheck(expected ?? null, removedBatches);
  let line = 0;
  for await (const text of lines) {
    line++;
    if (text.trim() !== "") await chain.add(text, line);
  }
  return chain.end();
}

class ChainCheck {
  readonly #expected: ChainPoint | null;
  readonly #removedBatches: number;
  readonly #open = new Map<number, OpenBatch>();
  /** The content digests of complete batches, kept until their neighbours are complete. */
  readonly #contents = new Map<number, Uint8Array>();
  readonly #digests = new Map<number, string>();
  readonly #problems: ExportProblem[] = [];
  #lastId = "";
  #entries = 0;
  #batches = 0;
  #first: number | null = null;
  #head: ChainPoint | null = null;
  #expectedSeen = false;

  constructor(expected: ChainPoint | null, removedBatches: number) {
    this.#expected = expected;
    this.#removedBatches = removedBatches;
  }

  async add(text: string, line: number): Promise<void> {
    const entry = readLine(text);
    if (entry === null) return this.#note("unreadable", null, line);
    const { batch, entries, digest } = entry.chain;
    if (entry.id <= this.#lastId) this.#note("out_of_order", batch, line);
    this.#lastId = entry.id;
    this.#entries++;
    let open = this.#open.get(batch);
    if (open === undefined) {
      if (this.#digests.has(batch)) return this.#note("changed", batch, line);
      open = this.#begin(batch, { entries, digest, digests: [] });
    }
    const isOther = open.digest !== digest || open.entries !== entries || !isConsistent(entry);
    if (isOther) this.#note("changed", batch, line);
    open.digests.push(digestOf(coveredText(entry)));
    if (open.digests.length === open.entries) await this.#complete(batch, open);
  }

  async end(): Promise<ExportVerification> {
    for (const batch of this.#open.keys()) this.#note("entries_missing", batch, null);
    if (this.#head !== null) {
      const recorded = this.#head.batch - this.#removedBatches;
      if (recorded !== this.#batches || this.#first !== this.#removedBatches + 1) {
        this.#note("batches_missing", null, null);
      }
    }
    if (this.#expected !== null && !this.#expectedSeen) {
      this.#note("digest_differs", this.#expected.batch, null);
    }
    return {
      ok: this.#problems.length === 0,
      entries: this.#entries,
      batches: this.#batches,
      first: this.#first,
      head: this.#head,
      problems: this.#problems,
    };
  }

  #begin(batch: number, open: OpenBatch): OpenBatch {
    this.#open.set(batch, open);
    this.#batches++;
    if (this.#first === null || batch < this.#first) this.#first = batch;
    if (this.#head === null || batch > this.#head.batch) this.#head = { batch, digest: open.digest };
    if (this.#expected?.batch === batch && this.#expected.digest === open.digest) this.#expectedSeen = true;
    return open;
  }

  async #complete(batch: number, open: OpenBatch): Promise<void> {
    this.#open.delete(batch);
    const parts = await Promise.all(open.digests);
    const content = new Uint8Array(parts.length * DIGEST_BYTES);
    for (const [index, part] of parts.entries()) content.set(new Uint8Array(part), index * DIGEST_BYTES);
    this.#contents.set(batch, new Uint8Array(await crypto.subtle.digest("SHA-256", content)));
    this.#digests.set(batch, open.digest);
    await this.#link(batch);
    await this.#link(batch + 1);
  }

  /** Verifies a batch's digest against its content and the previous digest, once both are known. */
  async #link(batch: number): Promise<void> {
    const content = this.#contents.get(batch);
    const previous = batch === 1 ? "" : this.#digests.get(batch - 1);
    if (content === undefined || previous === undefined) return;
    const before = bytesOfHex(previous);
    const linked = new Uint8Array(before.length + content.length);
    linked.set(before);
    linked.set(content, before.length);
    const digest = hexOf(await crypto.subtle.digest("SHA-256", linked));
    if (digest !== this.#digests.get(batch)) this.#note("changed", batch, null);
    // The next batch may still be open and needs this digest. The previous digest is no longer needed.
    this.#contents.delete(batch);
    this.#digests.delete(batch - 1);
  }

  #note(problem: ExportProblem["problem"], batch: number | null, line: number | null): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ problem, batch, line });
  }
}

function readLine(text: string): ExportedAuditEntry | null {
  try {
    const entry = JSON.parse(text) as ExportedAuditEntry;
    const { batch, entries, digest } = entry.chain;
    const isWhole =
      typeof entry.id === "string" && Number.isSafeInteger(batch) && Number.isSafeInteger(entries);
    return isWhole && DIGEST.test(digest) ? entry : null;
  } catch {
    // The caller reports the line number.
    return null;
  }
}

/** Whether the fields outside the digest follow from those inside. */
function isConsistent(entry: ExportedAuditEntry): boolean {
  const { id, request_id, token_count, prompt_tokens, completion_tokens } = entry;
  const isCounted = prompt_tokens !== null || completion_tokens !== null;
  const tokens = isCounted ? (prompt_tokens ?? 0) + (completion_tokens ?? 0) : null;
  return request_id === `req_${id.replaceAll("-", "")}` && token_count === tokens;
}

function coveredText(entry: ExportedAuditEntry): string {
  return COVERED_FIELDS.map((field) => String(entry[field] ?? "")).join("\n");
}

function digestOf(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
}

function hexOf(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytesOfHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
