import { type LookupAddress, type LookupOptions, lookup as lookUpBySystem } from "node:dns";
import type { LookupFunction } from "node:net";

/** How long a connection waits for the addresses of a host that was looked up before. Then it uses those that were found last. */
const KNOWN_AFTER_MS = 1_000;
/** The maximum number of hosts whose addresses are kept. There are few, because the operator names them. */
const MAX_HOSTS = 1_000;

/** The code of the error if no name server has answered, or one could not answer. */
const NAME_SERVER_FAILED = "EAI_AGAIN";

type Callback = Parameters<LookupFunction>[2];

interface Addresses {
  readonly address: string | LookupAddress[];
  readonly family: number | undefined;
}

/**
 * Looks up hosts for connections. The connections to a host wait for one look-up, because Node makes only two at once. If each connection made its own,
 * those to a host whose name server does not answer would keep all other hosts from being connected to, for minutes.
 *
 * If the name server does not answer, or fails, a host has the addresses that were found last.
 *
 * @param lookUp calls back in a later turn. Default: the system's resolver.
 */
export function sharedLookup(
  lookUp: LookupFunction = (hostname, options, callback) => lookUpBySystem(hostname, options, callback),
  knownAfterMs = KNOWN_AFTER_MS,
): LookupFunction {
  const running = new Map<string, Set<Callback>>();
  const known = new Map<string, Addresses>();

  const begin = (name: string, hostname: string, options: LookupOptions) => {
    const waiting = new Set<Callback>();
    running.set(name, waiting);
    lookUp(hostname, options, (error, address, family) => {
      running.delete(name);
      if (error === null) {
        if (known.size >= MAX_HOSTS) known.clear();
        known.set(name, { address, family });
      }
      // A name server that fails says nothing of the host.
      const last = error?.code === NAME_SERVER_FAILED ? known.get(name) : undefined;
      for (const callback of waiting) {
        if (last === undefined) callback(error, address, family);
        else callback(null, last.address, last.family);
      }
    });
    return waiting;
  };

  return (hostname, options, callback) => {
    const name = JSON.stringify([hostname, options]);
    const waiting = running.get(name) ?? begin(name, hostname, options);
    const last = known.get(name);
    if (last === undefined) {
      waiting.add(callback);
      return;
    }
    const answer: Callback = (...found) => {
      clearTimeout(timer);
      callback(...found);
    };
    const timer = setTimeout(() => {
      waiting.delete(answer);
      callback(null, last.address, last.family);
    }, knownAfterMs);
    waiting.add(answer);
  };
}
