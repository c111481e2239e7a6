const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/y;
const OTHER_VALUE = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/y;

/** Where a text stops being JSON, and why. The reason quotes nothing of the text, which may have a secret. */
interface JsonFault {
  /** From 1, as {@link JsonFault.column}. */
  readonly line: number;
  readonly column: number;
  readonly reason: string;
}

/** Why some text is no JSON that many write: by what it begins with. */
const HABITS: readonly (readonly [RegExp, string])[] = [
  [/(?:\/[/*]|#)/y, "JSON has no comments"],
  [/'/y, "a string must be in double quotes"],
  [
    /"(?!(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*")/y,
    "a string has no end on its line, or a \\ that JSON does not have",
  ],
];

/** The first fault of a text that should be JSON; `null`: it is JSON. The messages of runtimes quote the text, and some have no place. */
export function jsonFault(text: string): JsonFault | null {
  const reader = new Reader(text);
  const reason = reader.value() ?? reader.end();
  if (reason === null) return null;
  const lines = text.slice(0, reader.offset).split("\n");
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1, reason };
}

/** Reads values. Each method returns what is wrong at the offset, or `null` after it has passed what it reads. */
class Reader {
  readonly #text: string;
  offset: number;

  constructor(text: string) {
    this.#text = text;
    this.offset = text.startsWith("\ufeff") ? 1 : 0;
  }

  value(): string | null {
    if (this.#passes("{")) return this.#list("}", () => this.#field());
    if (this.#passes("[")) return this.#list("]", () => this.value());
    return this.#matches(STRING) || this.#matches(OTHER_VALUE) ? null : this.#expected("a value");
  }

  end(): string | null {
    return this.#next() === undefined ? null : this.#expected("the end of the JSON");
  }

  #field(): string | null {
    if (this.#next() !== '"' || !this.#matches(STRING)) return this.#expected("a name in double quotes");
    return this.#passes(":") ? this.value() : this.#expected(": after the name");
  }

  #list(end: string, part: () => string | null): string | null {
    if (this.#passes(end)) return null;
    for (;;) {
      const reason = part();
      if (reason !== null) return reason;
      if (this.#passes(end)) return null;
      if (!this.#passes(",")) return this.#expected(`, or ${end}`);
      if (this.#next() === end) return `JSON has no comma before ${end}`;
    }
  }

  #expected(what: string): string {
    if (this.#next() === undefined) return `the JSON ends too early: expected ${what}`;
    return HABITS.find(([pattern]) => this.#begins(pattern))?.[1] ?? `expected ${what}`;
  }

  #passes(sign: string): boolean {
    if (this.#next() !== sign) return false;
    this.offset++;
    return true;
  }

  /** The next sign after white space. */
  #next(): string | undefined {
    this.#matches(SPACE);
    return this.#text[this.offset];
  }

  #begins(pattern: RegExp): boolean {
    pattern.lastIndex = this.offset;
    return pattern.test(this.#text);
  }

  #matches(pattern: RegExp): boolean {
    if (!this.#begins(pattern)) return false;
    this.offset = pattern.lastIndex;
    return true;
  }
}
