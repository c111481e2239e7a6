/** Asks the parts that the node can't do without, one after the other: the first that does not answer, or `null`. */
export async function whatDoesNotAnswer(
  parts: Readonly<Record<string, () => PromiseLike<unknown>>>,
): Promise<string | null> {
  for (const [part, ask] of Object.entries(parts)) {
    try {
      await ask();
    } catch {
      return `the ${part} does not answer`;
    }
  }
  return null;
}
