import { setImmediate } from "node:timers/promises";
import { answerText } from "./cached-answer.ts";

/** Begins what stands in the place of an answer. It is sent nowhere, so that no answer can contain it. */
const MARK = crypto.randomUUID();

/** The answer of a procedure, which is encoded already. `mark`: stands in its place. */
export class EncodedAnswer {
  readonly mark: string;

  constructor(mark: string) {
    this.mark = mark;
  }
}

/**
 * The encoded answers of the procedures that one request calls. Each is encoded in a turn of the event loop of its own, and tRPC writes only marks in
 * their places: encoded together, twenty pages of the audit log would keep all other requests waiting for 0.3 seconds.
 */
export class EncodedAnswers {
  readonly #texts: string[] = [];
  #previous: Promise<unknown> | null = null;

  /** Encodes an answer, in a later turn than the one before. */
  async encode(answer: unknown): Promise<EncodedAnswer> {
    const previous = this.#previous;
    const encoded = previous === null ? this.#encode(answer) : this.#encodeAfter(previous, answer);
    // The next answer waits for this one, however it ends.
    this.#previous = encoded.catch(() => {});
    return encoded;
  }

  async #encodeAfter(previous: Promise<unknown>, answer: unknown): Promise<EncodedAnswer> {
    await previous;
    await setImmediate();
    return this.#encode(answer);
  }

  async #encode(answer: unknown): Promise<EncodedAnswer> {
    return new EncodedAnswer(`${MARK} ${this.#texts.push(answerText(answer)) - 1}`);
  }

  /** The response with the encoded answers in the places of their marks. */
  async placedIn(response: Response): Promise<Response> {
    if (this.#texts.length === 0) return response;
    const { status, headers } = response;
    const [first = "", ...rest] = (await response.text()).split(`"${MARK} `);
    const pieces = rest.flatMap((piece) => {
      const end = piece.indexOf('"');
      return [this.#texts[Number(piece.slice(0, end))] ?? "null", piece.slice(end + 1)];
    });
    return new Response([first, ...pieces].join(""), { status, headers });
  }
}
