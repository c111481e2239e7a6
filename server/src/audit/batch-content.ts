import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import {
  COVERED_FIELDS,
  COVERED_WHERE_SET,
  type RecordedField,
} from "../../../sdk/src/contract/audit-entry.ts";
import type { AccountId } from "../contract/account.ts";
import type { EntryId } from "../contract/entry.ts";
import { ENTRY_COLUMNS } from "../contract/entry-columns.ts";
import type { StoredTexts } from "./stored-texts.ts";

/** The indexes of fields that every digest covers. */
const COVERED = COVERED_FIELDS.map(indexOf);
/** The indexes of fields that a digest covers where they are not `null`, and what is written before their values. */
const COVERED_IF_SET = COVERED_WHERE_SET.map((field) => [indexOf(field), `\n${field}:`] as const);

/** What the entries of one account in a batch add to the account's chain. */
interface BatchContent {
  readonly accountId: AccountId;
  /** The number of the entries. */
  readonly entries: number;
  /** The newest entry's id. */
  readonly newest: EntryId;
  /** The SHA-256 digest of the entries' digests, in order of their ids: 64 hexadecimal digits. */
  readonly digest: string;
}

/** An entry's part in the digest of its batch. */
export interface EntryDigest {
  readonly accountId: AccountId;
  readonly id: EntryId;
  /** As {@link entryDigestOf} has it. */
  readonly digest: string;
}

/**
 * The SHA-256 digest of what an entry's digest covers: see "Verifying integrity" in `docs/reference/api.md`. It is a text with a
 * character for each byte, which takes two thirds of the time of a buffer.
 */
export function entryDigestOf(texts: StoredTexts): string {
  let covered = COVERED.map((index) => texts[index] ?? "").join("\n");
  for (const [index, name] of COVERED_IF_SET) {
    const text = texts[index] ?? null;
    if (text !== null) covered += `${name}${text}`;
  }
  return hash("sha256", covered, "binary");
}

/** What new entries add to the chains of their accounts. */
export function contentsOf(entries: readonly EntryDigest[]): readonly BatchContent[] {
  const byAccount = new Map<AccountId, EntryDigest[]>();
  for (const entry of entries) {
    const ofAccount = byAccount.get(entry.accountId);
    if (ofAccount === undefined) byAccount.set(entry.accountId, [entry]);
    else ofAccount.push(entry);
  }
  return [...byAccount].map(([accountId, ofAccount]) => {
    const sorted = ofAccount.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    const digests = sorted.map(({ digest }) => digest).join("");
    return {
      accountId,
      entries: sorted.length,
      newest: sorted.at(-1)?.id as EntryId,
      digest: hash("sha256", Buffer.from(digests, "binary"), "hex"),
    };
  });
}

function indexOf(field: RecordedField): number {
  const index = ENTRY_COLUMNS.findIndex((column) => column.field === field);
  if (index === -1) throw new Error(`no column has the field ${field}`);
  return index;
}
