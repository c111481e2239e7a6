import { createConnection, type LookupFunction } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { AbstractConnector, type Redis, type RedisOptions, SentinelConnector } from "ioredis";

type Connector = NonNullable<RedisOptions["Connector"]>;

/** What opens the connections of a client to one server. ioredis itself has no option for how a host is looked up. */
export function lookingUpBy(lookup: LookupFunction): Connector {
  return class extends AbstractConnector {
    readonly #options: RedisOptions;

    constructor(options: unknown) {
      const ofClient = options as RedisOptions;
      super(ofClient.disconnectTimeout ?? 0);
      this.#options = ofClient;
    }

    async connect() {
      this.connecting = true;
      // The client may be closed at once.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      if (!this.connecting) throw new Error("Connection is closed.");
      const { host, port = 6379, family, tls, path } = this.#options;
      const address = path ? { path } : { host, port, family, lookup };
      const stream = tls ? connectSecurely({ ...address, ...tls }) : createConnection(address);
      this.stream = stream;
      stream.once("error", (error) => {
        this.firstError = error;
      });
      return stream;
    }
  };
}

/** The private method by which ioredis connects to a sentinel. */
interface SentinelClients {
  connectToSentinel(endpoint: unknown, options?: Partial<RedisOptions>): Redis;
}

/** What asks the sentinels for the primary and opens the connections to it. */
export function sentinelsLookingUpBy(lookup: LookupFunction): Connector {
  const ofSentinel = lookingUpBy(lookup);
  return class extends SentinelConnector {
    constructor(options: unknown) {
      super(options as ConstructorParameters<typeof SentinelConnector>[0]);
      // ioredis passes no connector on to its connections to sentinels.
      const clients = this as unknown as SentinelClients;
      const connect = clients.connectToSentinel.bind(clients);
      clients.connectToSentinel = (endpoint, more) => connect(endpoint, { ...more, Connector: ofSentinel });
    }
  };
}

/** Adds the look-up to the address of a primary, which sentinels may give as a name. ioredis connects with all that is in the address. */
export function primaryLookedUpBy(lookup: LookupFunction) {
  return (address: string) => {
    const colon = address.lastIndexOf(":");
    return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)), lookup };
  };
}
