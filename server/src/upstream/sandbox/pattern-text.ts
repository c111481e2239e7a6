const MAX_PATTERN = 1_000;
const MAX_DEPTH = 50;
const MAX_TEXT = 10_000;
/** What a negated class is filled from. */
const CANDIDATES = [..."aA0-_. \n~é"];
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["t", "\t"],
  ["n", "\n"],
  ["r", "\r"],
  ["f", "\f"],
  ["v", "\v"],
  ["0", "\0"],
]);
/** The classes that one letter names; in upper case all other characters. */
const CLASSES: ReadonlyMap<string, { readonly example: string; readonly has: (char: string) => boolean }> =
  new Map([
    ["d", { example: "0", has: (char) => /\d/.test(char) }],
    ["w", { example: "a", has: (char) => /\w/.test(char) }],
    ["s", { example: " ", has: (char) => /\s/.test(char) }],
    ["D", { example: "a", has: (char) => /\D/.test(char) }],
    ["W", { example: "-", has: (char) => /\W/.test(char) }],
    ["S", { example: "a", has: (char) => /\S/.test(char) }],
  ]);

/** Thrown for what is not supported. */
class Unsupported extends Error {}

/**
 * Returns a text that a regular expression matches, of the length between `min` and `max` if that is found easily; `null` if the
 * expression looks around, refers back, names properties of characters, or is too large. The expression is only read and never run: that
 * of a client might run without end.
 */
export function textOfPattern(pattern: string, min: number, max: number): string | null {
  if (pattern.length > MAX_PATTERN) return null;
  try {
    const first = new Reader(pattern, 1).read();
    if (first.length >= min && first.length <= max) return first;
    const other = new Reader(pattern, first.length < min ? Math.min(min, MAX_TEXT) : 0).read();
    return other.length >= min && other.length <= max ? other : first;
  } catch (error) {
    if (error instanceof Unsupported) return null;
    throw error;
  }
}

/** A character, or a class of them, in brackets. */
interface Member {
  readonly example: string;
  readonly has: (char: string) => boolean;
}

class Reader {
  readonly #chars: readonly string[];
  /** How often what may be repeated without end is repeated. */
  readonly #repeats: number;
  #at = 0;
  #depth = 0;

  constructor(pattern: string, repeats: number) {
    this.#chars = [...pattern];
    this.#repeats = repeats;
  }

  read(): string {
    const text = this.#alternatives();
    if (this.#at < this.#chars.length || text === null) throw new Unsupported();
    return text;
  }

  /** The first alternative that any text matches; `null`: there is none. */
  #alternatives(): string | null {
    if (++this.#depth > MAX_DEPTH) throw new Unsupported();
    let chosen = this.#sequence();
    while (this.#take("|")) {
      const other = this.#sequence();
      chosen ??= other;
    }
    this.#depth--;
    return chosen;
  }

  #sequence(): string | null {
    let text: string | null = "";
    for (let char = this.#peek(); char !== undefined && char !== "|" && char !== ")"; char = this.#peek()) {
      const atom = this.#atom();
      const times = this.#times();
      if (text === null) continue;
      if (atom === null) {
        if (times > 0) text = null;
        continue;
      }
      if (text.length + atom.length * times > MAX_TEXT) throw new Unsupported();
      text += atom.repeat(atom === "" ? 0 : times);
    }
    return text;
  }

  /** `null`: no text matches it. */
  #atom(): string | null {
    const char = this.#next();
    switch (char) {
      case "^":
      case "$":
        return "";
      case ".":
        return "a";
      case "(":
        return this.#group();
      case "[":
        return this.#brackets();
      case "\\":
        return this.#escaped().example;
      case "*":
      case "+":
      case "?":
        throw new Unsupported();
      default:
        return char;
    }
  }

  #group(): string | null {
    if (this.#take("?") && !this.#take(":")) {
      // Its name; otherwise it looks around.
      if (!this.#take("<") || this.#peek() === "=" || this.#peek() === "!") throw new Unsupported();
      while (this.#next() !== ">");
    }
    const text = this.#alternatives();
    if (!this.#take(")")) throw new Unsupported();
    return text;
  }

  #brackets(): string | null {
    const isNegated = this.#take("^");
    const members: Member[] = [];
    while (!this.#take("]")) {
      const low = this.#member();
      const isRange = this.#peek() === "-" && this.#chars[this.#at + 1] !== "]";
      if (!isRange) {
        members.push(low);
        continue;
      }
      this.#at++;
      const from = codeOf(low);
      const to = codeOf(this.#member());
      members.push({ example: low.example, has: (char) => codePoint(char) >= from && codePoint(char) <= to });
    }
    if (!isNegated) return members[0]?.example ?? null;
    return CANDIDATES.find((char) => !members.some((member) => member.has(char))) ?? null;
  }

  #member(): Member {
    const char = this.#next();
    if (char !== "\\") return literal(char);
    return this.#take("b") ? literal("\b") : this.#escaped();
  }

  /** What follows a backslash. */
  #escaped(): Member {
    const char = this.#next();
    const named = CLASSES.get(char);
    if (named !== undefined) return named;
    const control = ESCAPES.get(char);
    if (control !== undefined) return literal(control);
    if (char === "x") return this.#code(2);
    if (char === "u") return this.#take("{") ? this.#bracedCode() : this.#code(4);
    // References, properties and the edges of words.
    if (/[A-Za-z1-9]/.test(char)) throw new Unsupported();
    return literal(char);
  }

  #code(digits: number): Member {
    let hex = "";
    while (hex.length < digits) hex += this.#next();
    return ofCode(hex);
  }

  #bracedCode(): Member {
    let hex = "";
    for (let char = this.#next(); char !== "}"; char = this.#next()) hex += char;
    return ofCode(hex);
  }

  /** How often the atom before is to stand. */
  #times(): number {
    const times = this.#quantifier();
    this.#take("?");
    return times;
  }

  #quantifier(): number {
    if (this.#take("*")) return this.#repeats;
    if (this.#take("+")) return Math.max(1, this.#repeats);
    if (this.#take("?")) return 0;
    if (!this.#take("{")) return 1;
    const min = this.#number();
    if (min === null) throw new Unsupported();
    const hasMax = this.#take(",");
    const max = hasMax ? (this.#number() ?? Number.POSITIVE_INFINITY) : min;
    if (!this.#take("}")) throw new Unsupported();
    return Math.min(max, Math.max(min, this.#repeats));
  }

  #number(): number | null {
    let digits = "";
    for (let char = this.#peek(); char !== undefined && /\d/.test(char); char = this.#peek())
      digits += this.#next();
    return digits === "" ? null : Number(digits);
  }

  #peek(): string | undefined {
    return this.#chars[this.#at];
  }

  #next(): string {
    const char = this.#chars[this.#at++];
    if (char === undefined) throw new Unsupported();
    return char;
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.#at++;
    return true;
  }
}

function literal(char: string): Member {
  return { example: char, has: (other) => other === char };
}

function ofCode(hex: string): Member {
  const code = /^[\da-f]{1,6}$/i.test(hex) ? Number.parseInt(hex, 16) : Number.NaN;
  if (!(code <= 0x10ffff)) throw new Unsupported();
  return literal(String.fromCodePoint(code));
}

function codePoint(char: string): number {
  return char.codePointAt(0) ?? 0;
}

function codeOf({ example }: Member): number {
  return codePoint(example);
}
