import { mayHaveLongNumber, parseExact } from "./exact-numbers.ts";
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
  strings: Number.POSITIVE_INFINITY,
  numerals: Number.POSITIVE_INFINITY,
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

  /**
   * @param value What the text stands for, if it was parsed before.
   * @returns `null` when the text is no JSON object.
   */
  static parse(text: string, value: JsonObject | null = null): JsonBody | null {
    const scanned = scanObject(text, NO_LIMITS);
    return scanned.kind === "object" ? JsonBody.of(text, scanned, value) : null;
  }

  /** As {@link parse}, of a text that was scanned before. */
  static of(text: string, scanned: ScannedObject, value: JsonObject | null = null): JsonBody | null {
    const parsed = value ?? parseJsonObject(text);
    return parsed === null ? null : new JsonBody(parsed, text, scanned.members, scanned.end);
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

  /** The value of a member with its numbers as {@link parseExact} keeps them. */
  exact(name: string): Json | undefined {
    const member = this.members.findLast((one) => one.name === name);
    if (member === undefined) return undefined;
    const text = this.text.slice(member.valueStart, member.valueEnd);
    return mayHaveLongNumber(text) ? parseExact(`{"value":${text}}`)?.value : this.value[name];
  }

  /** The text with the changes, and everything else unchanged. */
  textWith(changes: Changes): string {
    return this.#edit(changes, null).text;
  }

  /** The body with the changes. Only their text is written: nothing is parsed again, however large it is. */
  with(changes: Changes): JsonBody {
    const members: Member[] = [];
    const { text, end } = this.#edit(changes, members);
    const entries = Object.entries({ ...this.value, ...changes }).filter(([, value]) => value !== undefined);
    return new JsonBody(Object.fromEntries(entries), text, members, end);
  }

  /** Adds the members of the changed text to `moved`; `null`: the caller does not need them. */
  #edit(changes: Changes, moved: Member[] | null): Edited {
    const { text, members } = this;
    // A member that has the value already keeps its text.
    const names = Object.keys(changes).filter((name) => changes[name] !== this.value[name]);
    const found: string[] = [];
    let edited = "";
    let copied = 0;
    let index = -1;
    let left = 0;
    for (const member of members) {
      const { name, start, valueStart, valueEnd } = member;
      const shift = edited.length - copied;
      index++;
      if (!names.includes(name)) {
        left++;
        moved?.push(movedBy(shift, member));
        continue;
      }
      found.push(name);
      const value = changes[name];
      if (value !== undefined) {
        left++;
        edited += text.slice(copied, valueStart) + JSON.stringify(value);
        moved?.push({ ...movedBy(shift, member), valueEnd: edited.length });
        copied = valueEnd;
        continue;
      }
      // The comma before the member goes with it; for the first member, the one after.
      const previousEnd = members[index - 1]?.valueEnd;
      if (left > 0 && previousEnd !== undefined) {
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
      if (left++ > 0) edited += ",";
      const start = edited.length;
      const head = `${JSON.stringify(name)}:`;
      edited += head + JSON.stringify(value);
      moved?.push({ name, start, valueStart: start + head.length, valueEnd: edited.length });
    }
    return { text: edited + text.slice(this.#end), end: edited.length };
  }
}

interface Edited {
  readonly text: string;
  /** The position of the object's closing brace. */
  readonly end: number;
}

function movedBy(shift: number, { name, start, valueStart, valueEnd }: Member): Member {
  return { name, start: start + shift, valueStart: valueStart + shift, valueEnd: valueEnd + shift };
}
