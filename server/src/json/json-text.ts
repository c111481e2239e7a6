/** A member of a JSON object, with its positions in the text. */
export interface Member {
  readonly name: string;
  /** The position of the name's opening quote. */
  readonly start: number;
  readonly valueStart: number;
  /** The position after the value's last character. */
  readonly valueEnd: number;
}

/** How much of each kind a JSON text may contain. They bound the cost of parsing it. */
export interface ScanLimits {
  readonly depth: number;
  /** Elements and members, at any depth. */
  readonly values: number;
  /** Objects and arrays, at any depth. */
  readonly containers: number;
  /** Names of members, at any depth. */
  readonly names: number;
  /** Names and texts together, at any depth. */
  readonly strings: number;
  /** Texts of 5 to 10 digits, at any depth, names not included. */
  readonly numerals: number;
  /** Of the outermost object. */
  readonly members: number;
}

/** The outermost object of a JSON text. */
export interface ScannedObject {
  readonly kind: "object";
  readonly members: readonly Member[];
  /** The position of its closing brace. */
  readonly end: number;
  readonly size: JsonSize;
}

/** The size of a text, in the terms of {@link ScanLimits}. Without a limit of values, numbers in arrays are not counted. */
type JsonSize = Pick<ScanLimits, "values" | "containers" | "names" | "strings" | "numerals">;

type Scanned =
  | ScannedObject
  | { readonly kind: "too-deep" }
  | { readonly kind: "too-many"; readonly of: Exclude<keyof ScanLimits, "depth"> }
  /** The text is not an object, or not JSON at all. Parsing it tells which. */
  | { readonly kind: "other" };

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;
const DIGIT_1 = 0x31;
const DIGIT_9 = 0x39;
/** A text of digits without a leading zero, which may be escaped, and the lengths of such texts. */
const NUMERAL = /"(?:[1-9]|\\u003[1-9])(?:\d|\\u003\d){4,9}"/y;
const MIN_NUMERAL_LENGTH = '"12345"'.length;
const MAX_NUMERAL_LENGTH = '""'.length + 10 * "\\u0031".length;
/** What an array of numbers consists of. */
const NUMBERS = /[-+.\deE,\s]+/y;

/**
 * Finds the members of the outermost object of a text without parsing their values, so that these can be passed on byte for
 * byte, including numbers that JavaScript can't represent. The result is only valid if the text is JSON.
 */
export function scanObject(text: string, limits: ScanLimits): Scanned {
  const members: Member[] = [];
  let depth = 0;
  let values = 0;
  let containers = 0;
  let names = 0;
  let strings = 0;
  let numerals = 0;
  let nameStart = -1;
  let name: string | null = null;
  let valueStart = -1;
  let valueEnd = -1;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code <= 0x20) continue;
    const isMemberName = depth === 1 && name === null && valueStart === -1;
    if (code === QUOTE) {
      const end = endOfString(text, index);
      if (end === -1) return { kind: "other" };
      if (++strings > limits.strings) return { kind: "too-many", of: "strings" };
      if (isNumeral(text, index, end) && ++numerals > limits.numerals)
        return { kind: "too-many", of: "numerals" };
      if (isMemberName) {
        nameStart = index;
        name = nameOf(text, index, end);
        if (name === null) return { kind: "other" };
        if (members.length >= limits.members) return { kind: "too-many", of: "members" };
      } else if (depth === 1 && valueStart === -1) valueStart = index;
      valueEnd = end;
      index = end - 1;
      continue;
    }
    if (code === COLON) {
      if (++names > limits.names) return { kind: "too-many", of: "names" };
      continue;
    }
    if (code === COMMA) {
      if (++values > limits.values) return { kind: "too-many", of: "values" };
      if (depth !== 1) continue;
      if (name !== null) members.push({ name, start: nameStart, valueStart, valueEnd });
      name = null;
      nameStart = -1;
      valueStart = -1;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (depth === 0 && code === OPEN_BRACKET) return { kind: "other" };
      if (depth === 1 && valueStart === -1) valueStart = index;
      if (++depth > limits.depth) return { kind: "too-deep" };
      if (++containers > limits.containers) return { kind: "too-many", of: "containers" };
      // Answers with embeddings have megabytes of numbers, in which there is nothing to find: skipping them, 33 MB take 55 ms instead of 235.
      if (code === OPEN_BRACKET && limits.values === Number.POSITIVE_INFINITY) {
        NUMBERS.lastIndex = index + 1;
        if (NUMBERS.test(text)) index = NUMBERS.lastIndex - 1;
      }
      continue;
    }
    if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--;
      if (depth === 0) {
        if (name !== null) members.push({ name, start: nameStart, valueStart, valueEnd });
        const size = { values, containers, names, strings, numerals };
        return { kind: "object", members, end: index, size };
      }
      valueEnd = index + 1;
      continue;
    }
    if (depth === 0) return { kind: "other" };
    if (depth === 1 && valueStart === -1) valueStart = index;
    valueEnd = index + 1;
  }
  return { kind: "other" };
}

/** Whether a string, whose quotes are at `start` and before `end`, is one of {@link ScanLimits.numerals}. */
function isNumeral(text: string, start: number, end: number): boolean {
  if (end - start < MIN_NUMERAL_LENGTH || end - start > MAX_NUMERAL_LENGTH) return false;
  const first = text.charCodeAt(start + 1);
  if (first !== BACKSLASH && (first < DIGIT_1 || first > DIGIT_9)) return false;
  NUMERAL.lastIndex = start;
  return NUMERAL.test(text) && !isName(text, end);
}

/** Whether the string before `end` is the name of a member: a colon follows. */
function isName(text: string, end: number): boolean {
  let next = end;
  while (text.charCodeAt(next) <= 0x20) next++;
  return text.charCodeAt(next) === COLON;
}

/** The position after the closing quote; -1 if there is none. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return -1;
}

/** The name that a string of JSON stands for, whose quotes are at `start` and before `end`; `null`: it is not valid. */
function nameOf(text: string, start: number, end: number): string | null {
  const name = text.slice(start + 1, end - 1);
  if (!name.includes("\\")) return name;
  try {
    return JSON.parse(text.slice(start, end));
  } catch {
    // The text is not JSON, which parsing it reports.
    return null;
  }
}
