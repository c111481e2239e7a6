import { type DatabaseAddress, openDatabase } from "./database.ts";

/** Any number that nothing else in the database locks on. */
const NODE_LOCK = 7_305_113_003n;
const CHECK_MS = 3_000;
const RETRY_MS = 500;

export interface NodeLockOptions {
  readonly address: DatabaseAddress;
  /** `alone`: no other node may use the database. `shared`: only others that share too. */
  readonly mode: "alone" | "shared";
  /** For how long a node that is just stopping is waited for. */
  readonly patienceMs: number;
  /** Called once, when another node took the database while this one was cut off from it. */
  readonly onLost: () => void;
}

/**
 * Keeps nodes that know nothing of each other off one database: a revocation made at one of them would never reach
 * the cache of the other. Held by a connection of its own, and taken again when that connection was lost.
 */
export class NodeLock {
  readonly #tryLock: () => Promise<boolean>;
  readonly #end: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;

  private constructor(tryLock: () => Promise<boolean>, end: () => Promise<void>, onLost: () => void) {
    this.#tryLock = tryLock;
    this.#end = end;
    this.#timer = setInterval(() => void this.#check(onLost), CHECK_MS);
  }

  /** @returns `null` when other nodes hold the database. */
  static async acquire({ address, mode, patienceMs, onLost }: NodeLockOptions): Promise<NodeLock | null> {
    const connection = openDatabase(address, { maxConnections: 1, connectTimeoutS: 5, keepOpen: true });
    // A session may lock what it has locked already: asking again is how one finds out that it still does.
    const tryLock = async () => {
      const [row] =
        mode === "alone"
          ? await connection<{ held: boolean }[]>`select pg_try_advisory_lock(${NODE_LOCK}) as held`
          : await connection<{ held: boolean }[]>`select pg_try_advisory_lock_shared(${NODE_LOCK}) as held`;
      return row?.held ?? false;
    };
    const end = () => connection.end({ timeout: 1 });
    try {
      for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
        if (await tryLock()) return new NodeLock(tryLock, end, onLost);
        if (waitedMs >= patienceMs) break;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    } catch (error) {
      await end();
      throw error;
    }
    await end();
    return null;
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#end();
  }

  async #check(onLost: () => void): Promise<void> {
    // While the database is away nobody else can take it either.
    const held = await this.#tryLock().catch(() => true);
    if (held) return;
    clearInterval(this.#timer);
    onLost();
  }
}
