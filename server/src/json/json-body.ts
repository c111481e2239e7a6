import { type Json, type JsonObject, parseJsonObject } from "./json.ts";
import { type Member, type ScanLimits, type ScannedObject, scanObject } from "./json-text.ts";

/** What is to become of members of an object: another value, or none. */
export type Changes = Readonly<Record<string, Json | undefined>>;

const NO_LIMITS: ScanLimits = {
  depth: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
  containers: Number.POSITIVE_INFINITY,
  names: Number.POSITIVE_INFINITY,
  members: Number.POSITIVE_INFINITY,
};

/** A JSON object with the text that it came as: what is not changed goes on to the letter. */
export class JsonBody {
  readonly value: JsonObject;
  readonly text: string;
  /** Of the object itself, in their order. */
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

  /** The same of a text that was looked at already. */
  static of(text: string, scanned: ScannedObject): JsonBody | null {
    const value = parseJsonObject(text);
    return value === null ? null : new JsonBody(value, text, scanned.members, scanned.end);
  }

  /** A name that stands twice: which of the values counts, readers don't agree on. */
  get doubledName(): string | null {
    const seen = new Set<string>();
    for (const { name } of this.members) {
      if (seen.has(name)) return name;
      seen.add(name);
    }
    return null;
  }

  /** The text with some members changed, added or (`undefined`) taken out, and all else as it was. */
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
      // With the comma before it, or, at the beginning, the one after.
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
