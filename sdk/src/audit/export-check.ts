import type {
  CoveredEntry,
  ExportEnd,
  ExportedAuditEntry,
  ExportedBatch,
  ExportHeader,
  LeftOutEntry,
} from "../contract/audit.ts";
import {
  type AuditFieldKind,
  COVERED_FIELDS,
  COVERED_WHERE_SET,
  RECORDED_FIELDS,
} from "../contract/audit-entry.ts";
import type { ChainPoint } from "../contract/management.ts";
import { UnverifiableExportError } from "../core/errors.ts";
import { BatchChain } from "./batch-chain.ts";
import { bytesOfHex, sha256OfText } from "./digest.ts";
import { type Matcher, matcherOf, unknownFilterOf } from "./export-filter.ts";
import { positionOf, readExportLine } from "./export-lines.ts";
import { MAX_UNREADABLE_START } from "./verification-input.ts";
import type { ExportProblem, ExportScope, ExportVerification } from "./verify-export.ts";

const MAX_PROBLEMS = 100;
const NUMBERS: ReadonlySet<AuditFieldKind> = new Set(["integer", "count", "money"]);
const CSV_HEADER = "id,request_id,";

/** Verifies the lines of an export one after the other. */
export class ExportCheck {
  readonly #expected: readonly ChainPoint[];
  readonly #removedBatches: number;
  readonly #chain = new BatchChain((batch) => this.#note("changed", batch, this.#line));
  readonly #problems: ExportProblem[] = [];
  /** The expected points that the export contains. */
  readonly #seen = new Set<ChainPoint>();
  #header: ExportHeader["export"] | null = null;
  #isMatch: Matcher = matcherOf({});
  #end: ExportEnd["end"] | null = null;
  /** The line that is being read; `null` at the end. */
  #line: number | null = 0;
  #readable = 0;
  #lastId = "";
  #lastPosition = "";
  #entries = 0;
  #leftOut = 0;

  constructor(expected: readonly ChainPoint[], removedBatches: number) {
    this.#expected = expected;
    this.#removedBatches = removedBatches;
  }

  async add(text: string, line: number): Promise<void> {
    this.#line = line;
    const read = readExportLine(text);
    if (read === null) return this.#addForeign(text, line);
    this.#readable++;
    if (read.kind !== "header") this.#checkOrder(positionOf(read.cursor), line);
    switch (read.kind) {
      case "entry":
        return this.#addEntry(read.entry, line);
      case "header":
        // An export that was begun twice in one file.
        if (this.#readable > 1) this.#note("out_of_order", null, line);
        return this.#addHeader(read.header);
      case "batch":
        return this.#addBatch(read.batch, line);
      case "end":
        this.#requireHeader();
        this.#end ??= read.end;
        return;
    }
  }

  async end(lines: number): Promise<ExportVerification> {
    this.#line = null;
    if (this.#readable === 0 && lines > 0) throw notAnExport();
    for (const batch of this.#chain.incomplete) this.#note("entries_missing", batch, null);
    await (this.#header === null ? this.#endLog() : this.#endProof());
    for (const point of this.#expected)
      if (!this.#seen.has(point)) this.#note(this.#missed(point), point.batch, null);
    const { batches, first, head } = this.#chain;
    const { from = null, to = null, filter = {} } = this.#header ?? {};
    const ok = this.#problems.length === 0;
    return {
      ok,
      complete: ok && this.#entries > 0 ? this.#scope : null,
      period: { from, to },
      filter,
      entries: this.#entries,
      leftOut: this.#leftOut,
      batches,
      first,
      head,
      problems: this.#problems,
    };
  }

  /** The order is that of the cursors, because lines of a proof have no entry id. */
  #checkOrder(position: string | null, line: number): void {
    if (this.#header === null) return;
    if (position === null || position <= this.#lastPosition) this.#note("out_of_order", null, line);
    else this.#lastPosition = position;
  }

  get #scope(): ExportScope {
    if (this.#header === null) return "log";
    const { from, to, filter } = this.#header;
    if (Object.keys(filter).length > 0) return "selection";
    return from === null && to === null ? "log" : "range";
  }

  #addForeign(text: string, line: number): void {
    if (this.#readable === 0 && text.startsWith(CSV_HEADER)) {
      throw new UnverifiableExportError("it is CSV, which has no digests. Export NDJSON instead.");
    }
    if (this.#readable === 0 && line > MAX_UNREADABLE_START) throw notAnExport();
    this.#note("unreadable", null, line);
  }

  #addHeader(header: ExportHeader["export"]): void {
    if (this.#header !== null) return;
    const unknown = unknownFilterOf(header.filter);
    if (unknown !== null) {
      throw new UnverifiableExportError(
        `it has a filter that this version of the SDK does not know, “${unknown}”. Update the SDK.`,
      );
    }
    this.#header = header;
    this.#isMatch = matcherOf(header.filter);
  }

  async #addEntry(entry: ExportedAuditEntry, line: number): Promise<void> {
    const { batch, part } = entry.chain;
    if (part === true && this.#header === null) {
      throw new UnverifiableExportError(
        "it is an export of a part of the log without its proof. Export it again with its proof.",
      );
    }
    if (entry.id <= this.#lastId) this.#note("out_of_order", batch, line);
    this.#lastId = entry.id;
    this.#entries++;
    if (!isOfKinds(entry) || !isConsistent(entry)) this.#note("changed", batch, line);
    if (!this.#isInPeriod(entry.id)) this.#note("out_of_period", batch, line);
    if (!this.#isMatch(entry)) this.#note("out_of_filter", batch, line);
    this.#see(entry.chain);
    await this.#chain.addExported(entry.chain, digestOf(entry));
  }

  async #addBatch(recorded: ExportedBatch, line: number): Promise<void> {
    this.#requireHeader();
    const { batch, entries, left_out = [], content } = recorded;
    this.#see(recorded);
    if (content !== undefined) {
      this.#leftOut += entries;
      if (this.#scope !== "selection") this.#note("proof_missing", batch, line);
      return this.#chain.addContent(recorded, content);
    }
    this.#leftOut += left_out.length;
    for (const leftOut of left_out) this.#checkLeftOut(leftOut, batch, line);
    await this.#chain.addLeftOut(
      recorded,
      left_out.map(({ place, entry, digest = "" }) => ({
        place,
        digest: entry === undefined ? Promise.resolve(bytesOfHex(digest)) : digestOf(entry),
      })),
    );
  }

  /** Without a filter, the entries themselves show that they are not in the period. */
  #checkLeftOut({ entry }: LeftOutEntry, batch: number, line: number): void {
    if (entry !== undefined && !isOfKinds(entry)) this.#note("changed", batch, line);
    if (this.#scope === "selection") return;
    if (entry === undefined) this.#note("proof_missing", batch, line);
    else if (this.#isInPeriod(entry.id)) this.#note("left_out", batch, line);
  }

  #isInPeriod(id: string): boolean {
    const { from = null, to = null } = this.#header ?? {};
    // An id begins with 48 bits of milliseconds.
    const atMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    return (from === null || atMs >= Date.parse(from)) && (to === null || atMs < Date.parse(to));
  }

  async #endLog(): Promise<void> {
    const { head, first, batches } = this.#chain;
    if (head === null) return;
    const before = this.#expected.find(({ batch }) => batch === Number(first) - 1);
    if (before !== undefined) {
      // The digest before the first batch, which the caller has kept: the batch's entries have to fit it.
      this.#see(before);
      await this.#chain.addPrevious(before.digest);
    }
    const { linked } = this.#chain;
    const isWhole = this.#isFromBeginning(first) && head.batch - Number(first) + 1 === batches;
    // Without the digest before it, the entries of the oldest batch that retention left cannot be compared with its digest.
    const unlinked = first === 1 || before !== undefined ? 0 : 1;
    if (!isWhole || linked < batches - unlinked) this.#note("batches_missing", null, null);
  }

  /** Whether no batch is missing before the first one. Retention may have deleted further batches since the export was written. */
  #isFromBeginning(first: number | null): boolean {
    return first !== null && first <= this.#removedBatches + 1;
  }

  async #endProof(): Promise<void> {
    const end = this.#end;
    if (end === null) return this.#note("truncated", null, null);
    const { first, head, batches } = this.#chain;
    if (end.first !== first || end.last !== (head?.batch ?? null))
      return this.#note("batches_missing", null, null);
    if (first === null || head === null) return;
    if (end.previous !== null) {
      this.#see({ batch: first - 1, digest: end.previous });
      if (first > 1) await this.#chain.addPrevious(end.previous);
    }
    const isWhole = head.batch - first + 1 === batches && this.#chain.linked === batches;
    const isComplete = isWhole && (this.#scope !== "log" || this.#isFromBeginning(first));
    if (!isComplete) this.#note("batches_missing", null, null);
  }

  #requireHeader(): void {
    if (this.#header !== null) return;
    throw new UnverifiableExportError(
      "its first line, which tells what was exported, is missing. Export again, or append the rest of an export to its beginning.",
    );
  }

  #see({ batch, digest }: ChainPoint): void {
    for (const point of this.#expected) {
      if (point.batch === batch && point.digest === digest) this.#seen.add(point);
    }
  }

  /** Why an expected point was not seen. */
  #missed({ batch }: ChainPoint): ExportProblem["problem"] {
    const { first, head } = this.#chain;
    const isInside = head !== null && batch >= Number(first) - 1 && batch <= head.batch;
    const isOfLog = this.#scope === "log" && batch > this.#removedBatches;
    return isInside || isOfLog ? "digest_differs" : "expected_not_included";
  }

  #note(problem: ExportProblem["problem"], batch: number | null, line: number | null): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ problem, batch, line });
  }
}

function notAnExport(): UnverifiableExportError {
  return new UnverifiableExportError("it is not an export of the audit log in NDJSON.");
}

/** Whether the fields have values of their kinds. The digest does not distinguish those that are equal as text, such as `null` and "". */
function isOfKinds(entry: CoveredEntry): boolean {
  return RECORDED_FIELDS.every(([name, { kind, nullable = false }]) => {
    const value: unknown = entry[name];
    if (value === null) return nullable;
    // Exports of a service that does not know a field lack it.
    if (value === undefined) return COVERED_WHERE_SET.includes(name);
    if (NUMBERS.has(kind)) return typeof value === "number";
    // A client may have requested a model without a name. The digest of a value of several lines may be that of several fields.
    return typeof value === "string" && (kind === "text" || /^[^\n]+$/.test(value));
  });
}

/** Whether the fields outside the digest follow from those inside. */
function isConsistent(entry: ExportedAuditEntry): boolean {
  const { id, request_id, token_count, prompt_tokens, completion_tokens } = entry;
  const isCounted = prompt_tokens !== null || completion_tokens !== null;
  const tokens = isCounted ? (prompt_tokens ?? 0) + (completion_tokens ?? 0) : null;
  return request_id === `req_${id.replaceAll("-", "")}` && token_count === tokens;
}

function digestOf(entry: CoveredEntry): Promise<Uint8Array> {
  const always = COVERED_FIELDS.map((field) => String(entry[field] ?? ""));
  // Exports of a service that does not know a field lack it.
  const later = COVERED_WHERE_SET.flatMap((field) => {
    const value = entry[field] ?? null;
    return value === null ? [] : [`${field}:${value}`];
  });
  return sha256OfText([...always, ...later].join("\n"));
}
