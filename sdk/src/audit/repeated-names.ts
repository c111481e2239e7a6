/** A string of JSON, and the colon after it if it is a name. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(?:\s*(:))?/g;

/** Whether an object of a text in JSON has a name twice, of which readers see different values. `value`: what the text was parsed to. */
export function hasRepeatedName(text: string, value: unknown): boolean {
  return namesIn(value) !== namesOf(text);
}

/** The number of names that a text in JSON has in all its objects. */
function namesOf(text: string): number {
  let names = 0;
  for (const [, colon] of text.matchAll(STRING)) if (colon !== undefined) names++;
  return names;
}

/** The number of names after parsing: fewer than in the text if one is repeated. A forged line may be nested deeper than a recursion can go. */
function namesIn(value: unknown): number {
  let names = 0;
  const left = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const parts: unknown[] = Object.values(next);
    if (!Array.isArray(next)) names += parts.length;
    for (const part of parts) left.push(part);
  }
  return names;
}
