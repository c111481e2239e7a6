/** A comment, which readers of server-sent events pass over. */
export const HEARTBEAT = ": waiting\n\n";
export const HEARTBEAT_MS = 15_000;
