const MAX_LENGTH = 64;
const NUMBERED = /^(.*?) (\d{1,6})$/;

/** Returns a name for a key's successor: the old name with the next number that no active key has. */
export function successorName(name: string, taken: readonly string[]): string {
  const [, base = name, number = "1"] = NUMBERED.exec(name) ?? [];
  for (let next = Number(number) + 1; ; next++) {
    const suffix = ` ${next}`;
    const candidate = truncated(base, MAX_LENGTH - suffix.length) + suffix;
    if (!taken.includes(candidate)) return candidate;
  }
}

/** The prefix of all names that {@link successorName} can return for a key. */
export function prefixOfSuccessors(name: string): string {
  const [, base = name] = NUMBERED.exec(name) ?? [];
  return truncated(base, MAX_LENGTH / 2);
}

/** Truncates without splitting a surrogate pair. */
function truncated(text: string, length: number): string {
  let short = "";
  for (const character of text) {
    if (short.length + character.length > length) break;
    short += character;
  }
  return short.trimEnd();
}
