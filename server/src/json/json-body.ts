import { type Json, type JsonObject, parseJsonObject } from "./json.ts";
import { type Member, type ScanLimits, type ScannedObject, scanObject } from "./json-text.ts";

/** Changes of an object's members: new values, or `undefined` to remove a member. */
export type Changes = Readonly<Record<string, Json | undefined>>;

/** Deeper values can't be written again: `JSON.stringify` calls itself for each level. */
const MAX_DEPTH = 512;
const NO_LIMITS: ScanLimits = {
  depth: MAX_DEPTH,
  values: Number.POSITIVE_INFINITY,
  containers: Number.POSITIVE_INFINITY,
  names: Number.POSITIVE_INFINITY,
  members: Number.POSITIVE_INFINITY,
};

/** A JSON object with its text, so that what is not changed is passed on byte for byte. */
export class JsonBody {
  readonly value: JsonObject;
  readonly text: string;
  /** The members of the object itself, in their order. */
  readonly members: readonly Member[];
  readonly #end: number;

  private constructor(value: JsonObject, text: string, members: readonly Member[], end: number) {
    this.value = value;
    this.text = text;
    this.members = members;
    this.#end = end;
  }

  /** @returns `null` when the text is no JSON object. */
  static parse(text: string): JsonBody | null {
    const scanned = scanObject(text, NO_LIMITS);
    return scanned.kind === "object" ? JsonBody.of(text, scanned) : null;
  }

  /** Parses a text that was scanned before. @returns `null` if it is not a JSON object. */
  static of(text: string, scanned: ScannedObject): JsonBody | null {
    const value = parseJsonObject(text);
    return value === null ? null : new JsonBody(value, text, scanned.members, scanned.end);
  }

  /** The name of a member that occurs twice, or `null`. Readers do not agree on which of the values counts. */
  get doubledName(): string | null {
    const seen = new Set<string>();
    for (const { name } of this.members) {
      if (seen.has(name)) return name;
      seen.add(name);
    }
    return null;
  }

  /** The text with the changes, and everything else unchanged. */
  textWith(changes: Changes): string {
    const { text, members } = this;
    const names = Object.keys(changes);
    const found: string[] = [];
    let edited = "";
    let copied = 0;
    let keptBefore = false;
    let index = -1;
    for (const { name, start, valueStart, valueEnd } of members) {
      index++;
      if (!names.includes(name)) {
        keptBefore = true;
        continue;
      }
      found.push(name);
      const value = changes[name];
      if (value !== undefined) {
        edited += text.slice(copied, valueStart) + JSON.stringify(value);
        copied = valueEnd;
        keptBefore = true;
        continue;
      }
      // The comma before the member goes with it; for the first member, the one after.
      const previousEnd = members[index - 1]?.valueEnd;
      if (keptBefore && previousEnd !== undefined) {
        edited += text.slice(copied, Math.max(copied, previousEnd));
        copied = valueEnd;
      } else {
        edited += text.slice(copied, start);
        copied = members[index + 1]?.start ?? valueEnd;
      }
    }
    edited += text.slice(copied, this.#end);
    for (const name of names) {
      const value = changes[name];
      if (value === undefined || found.includes(name)) continue;
      edited += `${keptBefore ? "," : ""}${JSON.stringify(name)}:${JSON.stringify(value)}`;
      keptBefore = true;
    }
    return edited + text.slice(this.#end);
  }

  with(changes: Changes): JsonBody {
    const text = this.textWith(changes);
    const changed = JsonBody.parse(text);
    if (changed === null) throw new Error("a changed JSON object is none any more");
    return changed;
  }
}
