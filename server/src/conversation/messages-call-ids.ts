/** What Anthropic accepts in the id of a call. Other providers use more. */
const NOT_OF_ID = /[^a-zA-Z0-9_-]/g;

/** Gives the calls of a conversation, or of an answer, ids as the Messages API takes them. Each is another one. */
export class MessagesCallIds {
  readonly #given = new Set<string>();
  /** By ids that were asked for again, the last number that was added to them. Calls of one id would try all numbers again otherwise. */
  readonly #numbers = new Map<string, number>();

  /** The id of the next call. `id`: the one that it has elsewhere, which other calls may have, too. */
  next(id: string): string {
    const cleaned = id.replace(NOT_OF_ID, "_");
    let own = cleaned;
    let number = this.#numbers.get(cleaned) ?? 0;
    while (own === "" || this.#given.has(own)) own = `${cleaned}_${++number}`;
    if (own !== cleaned) this.#numbers.set(cleaned, number);
    this.#given.add(own);
    return own;
  }
}
