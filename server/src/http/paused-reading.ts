import type { Socket } from "node:net";

/** The private fields by which Node's HTTP server pauses a connection. There is no public way to do it: the server reads on after each request. */
export type ReadSocket = Socket & {
  _paused?: boolean;
  readonly parser?: { resume(): void } | null;
};

/**
 * Reads no further piece of a connection. The requests of the piece that has arrived are still parsed. Returns `false`, and has done
 * nothing, if it is not read already: Node itself stops a client that does not read its answers.
 */
export function stopReading(socket: ReadSocket): boolean {
  if (socket._paused === true) return false;
  socket._paused = true;
  socket.pause();
  return true;
}

/** Reads a connection that {@link stopReading} has stopped. */
export function readAgain(socket: ReadSocket): void {
  socket._paused = false;
  socket.parser?.resume();
  socket.resume();
}
