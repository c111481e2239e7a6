import { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";

export interface OpenRedisStore {
  /** The clock of the store. */
  readonly nowMs: () => number;
  /** Stores with the same one share what they hold; otherwise a store shares nothing. */
  readonly prefix?: string;
  readonly onError?: (message: string) => void;
}

/** Opens an admission store in a Redis that other tests use, too. */
export async function openRedisStore(
  url: string,
  { nowMs, prefix = `test-${crypto.randomUUID()}`, onError = () => {} }: OpenRedisStore,
): Promise<RedisAdmissionStore> {
  const store = new RedisAdmissionStore({ url, prefix, commandTimeoutMs: 2_000, onError, nowMs });
  await store.connect();
  return store;
}
