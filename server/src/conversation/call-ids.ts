/** What Anthropic accepts in the id of a call. Other providers use more. */
const NOT_OF_ID = /[^a-zA-Z0-9_-]/g;

/** The id of a call as the Messages API takes it. */
export function messagesCallId(id: string): string {
  return id.replace(NOT_OF_ID, "_");
}

/** Gives the calls of a conversation, or of an answer, ids in a provider's or a client's form. All ids differ, and none is empty. */
export class CallIds {
  readonly #form: (id: string) => string;
  readonly #given = new Set<string>();
  /** By ids that were asked for again, the last number that was added to them. Calls of one id would try all numbers again otherwise. */
  readonly #numbers = new Map<string, number>();

  /** @param form An id in the form that is needed. */
  constructor(form: (id: string) => string = (id) => id) {
    this.#form = form;
  }

  /** The id of the next call. `id`: the one that it has elsewhere, which other calls may have, too. */
  readonly next = (id: string): string => {
    const formed = this.#form(id);
    let own = formed;
    let number = this.#numbers.get(formed) ?? 0;
    while (own === "" || this.#given.has(own)) own = this.#form(`${formed}_${++number}`);
    if (own !== formed) this.#numbers.set(formed, number);
    this.#given.add(own);
    return own;
  };
}
