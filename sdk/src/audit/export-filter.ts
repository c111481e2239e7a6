import type { AuditFilter, ExportedAuditEntry } from "../contract/audit.ts";
import { isWithin, networkOf } from "../contract/network.ts";

/** The fields that filters compare. */
type FilteredEntry = Pick<
  ExportedAuditEntry,
  "key_id" | "model" | "upstream" | "status" | "error_code" | "source_ip"
>;
/** Whether an entry matches a filter. */
export type Matcher = (entry: FilteredEntry) => boolean;
type FilterName = Exclude<keyof AuditFilter, "from" | "to">;

const KEY_ID = /^[0-9A-Za-z]{4}$/;
const STATUS = /^[1-5](?:\d\d|xx)$/;

const MATCHERS: { readonly [_ in FilterName]: (value: string) => Matcher } = {
  key: (value) => (KEY_ID.test(value) ? ({ key_id }) => key_id === value : isOfOneKey()),
  model: (value) => textMatcher(value, ({ model }) => model),
  upstream: (value) => textMatcher(value, ({ upstream }) => upstream),
  status: statusMatcher,
  error_code: (value) => textMatcher(value, ({ error_code }) => error_code),
  source: sourceMatcher,
};

/** The names of the filters, without the period. */
export const FILTER_NAMES = Object.keys(MATCHERS) as readonly FilterName[];

/** The first name of a filter that is not among {@link FILTER_NAMES}, such as one of a later version; `null`: there is none. */
export function unknownFilterOf(filter: Readonly<Record<string, string>>): string | null {
  return Object.keys(filter).find((name) => !Object.hasOwn(MATCHERS, name)) ?? null;
}

/** Compares the entries of one export with its filter, as the service does. */
export function matcherOf(filter: Readonly<Record<string, string>>): Matcher {
  const matchers = FILTER_NAMES.flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [MATCHERS[name](value)];
  });
  return (entry) => matchers.every((isMatch) => isMatch(entry));
}

/** Entries do not have the id of their key, but those of one key have the same key ID. */
function isOfOneKey(): Matcher {
  let first: string | null = null;
  return ({ key_id }) => {
    first ??= key_id;
    return key_id === first;
  };
}

function statusMatcher(value: string): Matcher {
  if (value === "error") return ({ status, error_code }) => status >= 400 || error_code !== null;
  if (!STATUS.test(value)) return () => false;
  // A class such as 4xx has the first digit in common.
  const isClass = value.endsWith("xx");
  return ({ status }) => (isClass ? `${Math.floor(status / 100)}xx` : String(status)) === value;
}

function sourceMatcher(value: string): Matcher {
  const network = networkOf(value);
  return ({ source_ip }) => {
    const address = source_ip === null ? null : networkOf(source_ip);
    return network !== null && address !== null && isWithin(address, network);
  };
}

function textMatcher(wanted: string, textOf: (entry: FilteredEntry) => string | null): Matcher {
  const isPattern = wanted.includes("*");
  const parts = lowerCase(wanted).split("*");
  return (entry) => {
    const text = textOf(entry);
    if (text === null) return false;
    return isPattern ? hasParts(lowerCase(text), parts) : text === wanted;
  };
}

/** Whether a text consists of parts with any characters between them. Not a regular expression: one of a forged file could take years. */
function hasParts(text: string, parts: readonly string[]): boolean {
  const [first = "", ...others] = parts;
  const last = others.pop() ?? "";
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/**
 * A text in lower case. PostgreSQL converts each letter by itself, so that İ becomes i and the last Σ of a word σ. By the locale of
 * its database it may distinguish letters outside of ASCII that are equal here.
 */
function lowerCase(text: string): string {
  return text.toLowerCase().replaceAll("i\u0307", "i").replaceAll("ς", "σ");
}
