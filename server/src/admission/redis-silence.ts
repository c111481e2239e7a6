import type { Redis } from "ioredis";

/** How often a connection is looked at before it counts as silent. */
const LOOKS = 8;

/**
 * Closes each connection of a client on which commands wait and from which nothing has come for this long. It is up to an eighth late.
 *
 * It counts how often it has looked, not the time: a process that stood still reads what has arrived meanwhile before it looks again. The
 * `socketTimeout` of ioredis would close the connection before that is read, and the node would drop its caches and refuse requests.
 */
export function closeSilentConnections(client: Redis, timeoutMs: number): Redis {
  client.on("connect", () => {
    const { stream } = client;
    let isHeard = false;
    let silentLooks = 0;
    stream.on("data", () => {
      isHeard = true;
    });
    const timer = setInterval(() => {
      const isSilent = client.commandQueue.length > 0 && !isHeard;
      silentLooks = isSilent ? silentLooks + 1 : 0;
      isHeard = false;
      // The first look may follow the command at once.
      if (silentLooks > LOOKS) stream.destroy(new Error(`no answer within ${timeoutMs} ms`));
    }, timeoutMs / LOOKS);
    timer.unref();
    stream.once("close", () => clearInterval(timer));
  });
  return client;
}
