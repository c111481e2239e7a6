import { type Json, type JsonObject, parseJsonObject } from "./json.ts";
import { type Member, type ScanLimits, scanObject } from "./json-text.ts";

/** What is to become of members of an object: another value, or none. */
export type Changes = Readonly<Record<string, Json | undefined>>;

const NO_LIMITS: ScanLimits = { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY };

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
    const read = JsonBody.read(text, NO_LIMITS);
    return read instanceof JsonBody ? read : null;
  }

  /** The same of a text from outside: looked at before it is parsed, as what is too deep overflows the stack of who walks it. */
  static read(text: string, limits: ScanLimits): JsonBody | "too-deep" | "too-many" | null {
    const scanned = scanObject(text, limits);
    if (scanned.kind === "other") return null;
    if (scanned.kind !== "object") return scanned.kind;
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
    const parts: string[] = [];
    let copied = 0;
    const left = new Map(Object.entries(changes));
    let keptBefore = false;
    for (const [index, { name, start, valueStart, valueEnd }] of this.members.entries()) {
      if (!Object.hasOwn(changes, name)) {
        keptBefore = true;
        continue;
      }
      left.delete(name);
      const value = changes[name];
      if (value !== undefined) {
        parts.push(this.text.slice(copied, valueStart), JSON.stringify(value));
        copied = valueEnd;
        keptBefore = true;
        continue;
      }
      // With the comma before it, or, at the beginning, the one after.
      const next = this.members[index + 1];
      const previousEnd = this.members[index - 1]?.valueEnd;
      if (keptBefore && previousEnd !== undefined) {
        parts.push(this.text.slice(copied, Math.max(copied, previousEnd)));
        copied = valueEnd;
      } else {
        parts.push(this.text.slice(copied, start));
        copied = next?.start ?? valueEnd;
      }
    }
    const added = [...left].filter(([, value]) => value !== undefined);
    parts.push(this.text.slice(copied, this.#end));
    for (const [name, value] of added) {
      parts.push(`${keptBefore ? "," : ""}${JSON.stringify(name)}:${JSON.stringify(value)}`);
      keptBefore = true;
    }
    parts.push(this.text.slice(this.#end));
    return parts.join("");
  }

  with(changes: Changes): JsonBody {
    const text = this.textWith(changes);
    const changed = JsonBody.parse(text);
    if (changed === null) throw new Error("a changed JSON object is none any more");
    return changed;
  }
}
