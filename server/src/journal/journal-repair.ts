import type { ActionState, Actor, NewAction } from "../contract/action.ts";
import { type AuditEntry, requestIdOf } from "../contract/entry.ts";
import { Failure } from "../errors/failure.ts";
import type { Journal } from "./journal.ts";
import { decodeCorrectedLine, decodeLine, type JournalLine, type UnreadableLine } from "./journal-line.ts";
import type { RejectedFile, RejectedLine } from "./rejected-lines.ts";
import { insertLines } from "./replay-journal.ts";

const EXCERPT_BYTES = 200;
/** The maximum of a line that is shown alone. */
const SHOWN_BYTES = 64 * 1024;
/** The maximum number of requests in the record of an action. */
const MAX_RECORDED = 50;

const END_UNKNOWN = "the end of this request may be in an unreadable line: replay or discard that line first";
const LOCKED =
  "another transaction has locked the account of this request for long: replay the line again when it has ended";
const END_REJECTED = "the end of this request is in another rejected line: replay or discard that line first";

/** A rejected line, as operators see it. */
interface RejectedLineReport {
  /** The id of the line: 12 hexadecimal digits, which depend on its content only. */
  readonly id: string;
  /** The file in the journal's folder. */
  readonly file: string;
  /** The number of the line in its file, from 1. */
  readonly line: number;
  /** The length of the line in bytes. */
  readonly bytes: number;
  /** Whether the line is of a request that has ended or only begun, or can't be read. */
  readonly kind: (JournalLine | UnreadableLine)["kind"];
  /** Why the line can't be read; `null` if it can. Then the database has refused it, and replaying it shows why. */
  readonly problem: string | null;
  /** The request of the line; `null` if it can't be read. */
  readonly request: RejectedRequest | null;
  /** The beginning of the line. */
  readonly text: string;
}

interface RejectedRequest {
  /** The id that the client received in `x-request-id`. */
  readonly requestId: string;
  /** The id of the account that made the request. */
  readonly accountId: string;
  /** When the request arrived. */
  readonly at: Date;
  /** The cost of the request in nano-USD. */
  readonly costNanoUsd: bigint;
}

/** The rejected lines of the node that answers. */
interface RejectedLinesReport {
  /** The name of the node that answered. */
  readonly node: string;
  /** The journal's folder on that node. */
  readonly folder: string;
  /** The lines, as many as were requested. */
  readonly lines: readonly RejectedLineReport[];
  /** How many more lines there are. */
  readonly more: number;
  /** Files and folders that can't be read. */
  readonly files: readonly RejectedFile[];
}

/** A line that was not recorded when it was replayed. */
interface NotReplayed {
  /** The id of the line. */
  readonly id: string;
  /** The file in the journal's folder. */
  readonly file: string;
  /** The number of the line in its file, from 1. */
  readonly line: number;
  /** Why the line was not recorded. */
  readonly reason: string;
}

interface JournalRepairParts {
  readonly journal: Journal;
  /** The journal's folder, and the id of the node that it belongs to. */
  readonly folder: string;
  readonly nodeId: string;
  /**
   * Inserts entries, except those that the database has already. Returns those that were left out because another transaction has locked their
   * accounts.
   */
  readonly insert: (entries: readonly AuditEntry[]) => Promise<readonly AuditEntry[]>;
  /** Records what an operator did. */
  readonly record: (action: NewAction) => Promise<void>;
  readonly now: () => Date;
}

/** Lists, replays and discards rejected lines of this node's journal. Changes are recorded in the audit trail. */
export class JournalRepair {
  readonly #parts: JournalRepairParts;

  constructor(parts: JournalRepairParts) {
    this.#parts = parts;
  }

  /** Lists the first `limit` rejected lines. */
  async list(limit: number): Promise<RejectedLinesReport> {
    const { journal, folder, nodeId } = this.#parts;
    const { lines, files } = await journal.rejected.list();
    return {
      node: nodeId,
      folder,
      lines: lines.slice(0, limit).map((line) => describe(line, EXCERPT_BYTES)),
      more: Math.max(0, lines.length - limit),
      files,
    };
  }

  /** One line, with its text as far as 64 KiB. @throws {Failure} `not_found` */
  async get(id: string): Promise<RejectedLineReport> {
    const { lines } = await this.#parts.journal.rejected.list();
    const line = lines.find((found) => found.id === id);
    if (line === undefined) throw this.#noSuchLine(id);
    return describe(line, SHOWN_BYTES);
  }

  /**
   * Records and charges the requests of rejected lines. Lines whose entries are in the database are removed.
   *
   * @param ids which lines; `null`: all.
   * @param replacement the corrected text of the only line in `ids`.
   * @returns the number of recorded lines, and the lines that were not recorded.
   * @throws {Failure} `not_found`; `invalid_request` if the replacement is not a journal line.
   */
  async replay(
    by: Actor,
    ids: readonly string[] | null,
    replacement: string | null = null,
  ): Promise<{
    /** The number of lines that were recorded. */
    readonly replayed: number;
    /** The lines that were not recorded. They stay. */
    readonly notReplayed: readonly NotReplayed[];
  }> {
    const { journal } = this.#parts;
    const all = await journal.rejected.list();
    const chosen = ids === null ? all.lines : this.#choose(all.lines, ids);
    const read = replacement === null ? chosen.map(readAsStored) : chosen.map(readAs(replacement));
    const readable = readableOf(read);
    const unreadable = read.flatMap(({ content, ...item }) =>
      content.kind === "unreadable" ? [{ item, reason: content.problem }] : [],
    );
    const refused = await this.#insert(readable.filter(({ kind }) => kind === "ended"));
    const begun = readable.filter(({ kind }) => kind === "begun");
    const whereEndMayBe = endsIn({ all, chosen, unreadable, refused });
    const waiting = begun.flatMap((item) => {
      const reason = whereEndMayBe(item);
      return reason === null ? [] : { item, reason };
    });
    const lost = begun.filter((item) => whereEndMayBe(item) === null);
    const refusedLost = await this.#insert(lost);
    const notReplayed = [...unreadable, ...refused, ...waiting, ...refusedLost].map(({ item, reason }) => ({
      ...positionOf(item),
      reason,
    }));
    const left = new Set(notReplayed.map(({ id }) => id));
    const replayed = readable.filter(({ id }) => !left.has(id));
    await this.#removeReplayed(by, replayed);
    return { replayed: replayed.length, notReplayed };
  }

  /** @returns the lines that were not recorded. */
  async #insert(lines: readonly ReadableLine[]): Promise<readonly NotInserted[]> {
    const locked = new Set<AuditEntry>();
    const refused = await insertLines(lines, async (entries) => {
      for (const entry of await this.#parts.insert(entries)) locked.add(entry);
    });
    const ofLocked = lines.filter(({ entry }) => locked.has(entry));
    return [...refused, ...ofLocked.map((item) => ({ item, reason: LOCKED }))];
  }

  async #removeReplayed(by: Actor, replayed: readonly ReadableLine[]): Promise<void> {
    if (replayed.length === 0) return;
    await this.#record(by, "journal.replay", null, {
      lines: replayed.length,
      requests: requestsOf(replayed),
    });
    await this.#parts.journal.rejected.remove(new Set(replayed.map(({ id }) => id)));
  }

  /**
   * Deletes lines without recording or charging their requests.
   *
   * @returns the number of deleted lines. @throws {Failure} `not_found`
   */
  async discard(
    by: Actor,
    ids: readonly string[],
    reason: string,
  ): Promise<{
    /** The number of deleted lines. */
    readonly discarded: number;
  }> {
    const { journal } = this.#parts;
    const { lines } = await journal.rejected.list();
    const chosen = this.#choose(lines, ids);
    const read = chosen.map(readAsStored);
    // The action is recorded first, so that no line is deleted without a record.
    await this.#record(by, "journal.discard", reason, {
      lines: chosen.length,
      ids: ids.slice(0, MAX_RECORDED),
      requests: requestsOf(readableOf(read)),
    });
    await journal.rejected.remove(new Set(ids));
    return { discarded: chosen.length };
  }

  #choose(lines: readonly RejectedLine[], ids: readonly string[]): readonly RejectedLine[] {
    const requested = new Set(ids);
    const present = new Set(lines.map(({ id }) => id));
    for (const id of requested) if (!present.has(id)) throw this.#noSuchLine(id);
    return lines.filter(({ id }) => requested.has(id));
  }

  #noSuchLine(id: string): Failure {
    return new Failure(
      "not_found",
      `Node ${this.#parts.nodeId} has no rejected line ${id}. Send the call to the address of the node whose journal contains it.`,
      { param: "ids" },
    );
  }

  #record(
    by: Actor,
    action: "journal.replay" | "journal.discard",
    reason: string | null,
    what: ActionState,
  ): Promise<void> {
    const { record, nodeId, now } = this.#parts;
    return record({
      at: now(),
      by,
      accountId: null,
      action,
      reason,
      before: null,
      after: { node: nodeId, ...what },
    });
  }
}

type ReadLine = RejectedLine & { readonly content: JournalLine | UnreadableLine };
type ReadableLine = RejectedLine & JournalLine;

/** A line whose entry was not inserted, and why. */
interface NotInserted {
  readonly item: ReadableLine;
  readonly reason: string;
}

function readAsStored(line: RejectedLine): ReadLine {
  return { ...line, content: decodeLine(line.bytes) };
}

/** Reads lines as if they had the text of a replacement. @throws {Failure} `invalid_request` if that is not a journal line. */
function readAs(replacement: string): (line: RejectedLine) => ReadLine {
  const content = decodeCorrectedLine(replacement);
  if (content.kind === "unreadable") {
    const message = `The replacement is not a valid journal line: ${content.problem}. Correct it and try again.`;
    throw new Failure("invalid_request", message, { param: "replacement" });
  }
  return (line) => ({ ...line, content });
}

/** The lines that can be read, with their entries. */
function readableOf(lines: readonly ReadLine[]): readonly ReadableLine[] {
  return lines.flatMap(({ content, ...line }) =>
    content.kind === "unreadable" ? [] : [{ ...line, ...content }],
  );
}

/**
 * Returns the function that tells why a request that has begun must not be recorded as lost: its end may be in a line that is not recorded. It
 * returns `null` if there is no such line.
 */
function endsIn(lines: {
  readonly all: { readonly lines: readonly RejectedLine[]; readonly files: readonly RejectedFile[] };
  readonly chosen: readonly RejectedLine[];
  readonly unreadable: readonly unknown[];
  readonly refused: readonly NotInserted[];
}): (begun: ReadableLine) => string | null {
  const { all, chosen, unreadable, refused } = lines;
  const chosenIds = new Set(chosen.map(({ id }) => id));
  const others = all.lines.flatMap((line) => (chosenIds.has(line.id) ? [] : [decodeLine(line.bytes)]));
  const isUnknown =
    all.files.length > 0 || unreadable.length > 0 || others.some(({ kind }) => kind === "unreadable");
  const ends = new Set([
    ...refused.map(({ item }) => item.entry.id),
    ...others.flatMap((line) => (line.kind === "ended" ? line.entry.id : [])),
  ]);
  return ({ entry }) => {
    if (isUnknown) return END_UNKNOWN;
    return ends.has(entry.id) ? END_REJECTED : null;
  };
}

function positionOf({ id, file, line }: RejectedLine): Omit<NotReplayed, "reason"> {
  return { id, file, line };
}

function describe(line: RejectedLine, maxBytes: number): RejectedLineReport {
  const content = decodeLine(line.bytes);
  return {
    ...positionOf(line),
    bytes: line.bytes.length,
    kind: content.kind,
    problem: content.kind === "unreadable" ? content.problem : null,
    request: content.kind === "unreadable" ? null : requestOf(content.entry),
    text: new TextDecoder().decode(line.bytes.subarray(0, maxBytes)),
  };
}

function requestOf({ id, accountId, at, costNanoUsd }: AuditEntry): RejectedRequest {
  return { requestId: requestIdOf(id), accountId, at, costNanoUsd };
}

/** The requests for the audit trail: plain JSON, with money as decimal strings. */
function requestsOf(lines: readonly { readonly entry: AuditEntry }[]): readonly ActionState[] {
  return lines.slice(0, MAX_RECORDED).map(({ entry }) => ({
    requestId: requestIdOf(entry.id),
    accountId: entry.accountId,
    costNanoUsd: entry.costNanoUsd.toString(),
  }));
}
