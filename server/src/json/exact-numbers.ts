import { type Json, type JsonObject, parseJsonObject } from "./json.ts";

/** A number of this many characters may be one that JavaScript can't hold, and so may one with a large exponent, such as `1e400`. */
const LONG_LENGTH = 16;
const LARGE_EXPONENT = /[eE][+-]?\d{3}/;
/** Where there may be such a number. A number with an exponent is looked for after what can stand before it, as images in base64 are full of its characters. */
const LONG = /\d[\d.]{15}|[\s:,[]-?\d[\d.]*[eE][+-]?\d{3}/;
/** The next string, or the characters of the next number. */
const TOKEN = /"|-?\d[\d.eE+-]*/g;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The random prefix of a number that is kept as a text, which no client can guess; `null` until there is such a number. */
let mark: string | null = null;

/**
 * Parses an object with each number that JavaScript can't hold, such as an id of 64 bits, as a text that {@link exactJson} makes a number
 * again. Meant for values that are only passed on. (`JSON.rawJSON` does not exist in Node 20.)
 *
 * @returns `null` when the text is no JSON object.
 */
export function parseExact(json: string): JsonObject | null {
  return parseJsonObject(mayHaveLongNumber(json) ? withMarks(json) : json);
}

/** Whether {@link parseExact} may differ from an ordinary parse. */
export function mayHaveLongNumber(json: string): boolean {
  return LONG.test(json);
}

/** The number that a value of {@link parseExact} stands for, as JavaScript can hold it; `null` for anything else. */
export function heldNumber(value: Json | undefined): number | null {
  if (typeof value === "number") return value;
  const isKept = typeof value === "string" && mark !== null && value.startsWith(mark);
  return isKept ? Number(value.slice(mark?.length)) : null;
}

/** JSON with the numbers that {@link parseExact} has kept as they were written. */
export function exactJson(json: string): string {
  if (mark === null || !json.includes(mark)) return json;
  const start = `"${mark}`;
  const [first = "", ...others] = json.split(start);
  return first + others.map((rest) => rest.replace('"', "")).join("");
}

function withMarks(json: string): string {
  let marked = "";
  let copied = 0;
  TOKEN.lastIndex = 0;
  for (let token = TOKEN.exec(json); token !== null; token = TOKEN.exec(json)) {
    const [characters] = token;
    if (characters === '"') {
      TOKEN.lastIndex = endOfString(json, token.index);
    } else if (!isHeld(characters)) {
      mark ??= `\u{e000}${crypto.randomUUID()}:`;
      marked += `${json.slice(copied, token.index)}"${mark}${characters}"`;
      copied = TOKEN.lastIndex;
    }
  }
  return marked + json.slice(copied);
}

/** Whether JavaScript can hold the number. Characters that are no number count as one that it can, so that the parser refuses them. */
function isHeld(characters: string): boolean {
  if (characters.length < LONG_LENGTH && !LARGE_EXPONENT.test(characters)) return true;
  if (!NUMBER.test(characters)) return true;
  return String(Number(characters)) === characters;
}

/** The position after the string that begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let escapes = 0;
    while (json[quote - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return quote + 1;
  }
  return json.length;
}
