import type { ServerResponse } from "node:http";
import { type ReadSocket, readAgain, stopReading } from "./paused-reading.ts";

/** A connection with this many waiting requests is not read until some are handled. With fewer, a client that leaves is noticed at once. */
const MAX_READ = 8;
/**
 * The maximum number of requests of a connection that wait for their turn. One chunk from a client can contain 2,600 requests, and each takes a
 * hundred times its size in memory.
 */
const MAX_WAITING = 100;

const STATE = Symbol("waiting requests of a connection");

type PipelinedSocket = ReadSocket & { [STATE]?: State };

interface State {
  waiting: number;
  /** Whether the connection is not read because of them. */
  isStopped: boolean;
}

/**
 * Handles a pipelined request (one that was sent before the connection's earlier requests were answered) when its answer may be sent. Otherwise a
 * client could have any number of requests handled at once on a single connection. A connection with too many waiting requests is closed.
 *
 * @param response the answer, to which Node has given no connection yet.
 */
export function handleInTurn(socket: PipelinedSocket, response: ServerResponse, handle: () => void): void {
  socket[STATE] ??= watched(socket);
  const state = socket[STATE];
  if (++state.waiting > MAX_WAITING) {
    socket.destroy();
    return;
  }
  stopIfMany(socket, state);
  response.once("socket", () => {
    state.waiting--;
    if (state.isStopped && state.waiting < MAX_READ) {
      state.isStopped = false;
      readAgain(socket);
    }
    // In a later turn of the event loop, as other connections go first.
    setImmediate(() => {
      if (!response.destroyed) handle();
    });
  });
}

function watched(socket: PipelinedSocket): State {
  const state = { waiting: 0, isStopped: false };
  // Node reads on after each answer.
  socket.on("resume", () => stopIfMany(socket, state));
  return state;
}

function stopIfMany(socket: PipelinedSocket, state: State): void {
  if (state.waiting >= MAX_READ && stopReading(socket)) state.isStopped = true;
}
