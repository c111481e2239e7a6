/** A call as the provider has it. */
interface PairedCall {
  readonly id: string;
  readonly name: string;
}

/** Calls of one turn that have one id in the client's conversation. */
interface SameIdCalls {
  readonly turn: number;
  /** In the order of the calls. */
  readonly calls: [PairedCall, ...PairedCall[]];
  /** How many of them have their result. */
  results: number;
}

/**
 * The calls of a conversation by the ids that the client has for them. Some servers give all calls of an answer the same id, or an empty one: the
 * results of such calls come in the order of the calls.
 */
export class PairedCalls {
  readonly #ownId: (id: string) => string;
  readonly #calls = new Map<string, SameIdCalls>();
  #turn = 0;

  /** @param ownId The id that the provider gets for the next call, by the client's. */
  constructor(ownId: (id: string) => string) {
    this.#ownId = ownId;
  }

  /** Begins the calls of another turn, whose results are no longer those of earlier calls with the same ids. */
  beginTurn(): void {
    this.#turn++;
  }

  /** Adds a call. @returns its id for the provider. */
  add({ id, name }: PairedCall): string {
    const call = { id: this.#ownId(id), name };
    const same = this.#calls.get(id);
    if (same?.turn === this.#turn) same.calls.push(call);
    else this.#calls.set(id, { turn: this.#turn, calls: [call], results: 0 });
    return call.id;
  }

  /** The call that the next result with an id belongs to. `undefined`: there is none. */
  takeCall(id: string): PairedCall | undefined {
    const same = this.#calls.get(id);
    return same === undefined ? undefined : (same.calls[same.results++] ?? same.calls.at(-1));
  }
}
