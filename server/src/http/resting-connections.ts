import { type ReadSocket, readAgain, stopReading } from "./paused-reading.ts";

/** A long list is shortened when this many of its connections have been read again. */
const SHORTENED_FROM = 4_096;

/**
 * Connections that are not read for a while, so that others go first. They are read again in the order in which they came, some in each turn of the
 * event loop. Otherwise clients that send again as soon as they are refused would fill each turn. A turn with thousands of requests keeps all their
 * objects in memory, and all other requests wait for its end.
 */
export class RestingConnections {
  readonly #readableInTurn: () => number;
  #resting: ReadSocket[] = [];
  /** How many of the list have been read again. */
  #done = 0;

  /** @param readableInTurn returns how many connections may be read again in the present turn of the event loop. */
  constructor(readableInTurn: () => number) {
    this.#readableInTurn = readableInTurn;
  }

  /** Reads no further request of a connection until it is its turn. The request that has arrived may be answered meanwhile. */
  rest(socket: ReadSocket): void {
    if (!stopReading(socket)) return;
    if (this.#resting.push(socket) === 1) setImmediate(() => this.#readAgain());
  }

  #readAgain(): void {
    const next = this.#resting.slice(this.#done, this.#done + this.#readableInTurn());
    for (const socket of next) readAgain(socket);
    this.#done += next.length;
    const isOver = this.#done === this.#resting.length;
    if (isOver || this.#done >= SHORTENED_FROM) {
      this.#resting = this.#resting.slice(this.#done);
      this.#done = 0;
    }
    if (!isOver) setImmediate(() => this.#readAgain());
  }
}
