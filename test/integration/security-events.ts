import { statusOf } from "../fixtures/request.ts";

/** Settings that trust the tests' own address as a proxy, so that requests can come from any address. */
export const TRUSTING_PROXY = { TRUSTED_PROXIES: "127.0.0.1" };

/** Headers of a request that a trusted proxy forwards for this address. */
export function from(address: string) {
  return { "x-forwarded-for": address };
}

let lastAddress = 0;

/** An address that no request has come from. */
export function freshAddress(): string {
  lastAddress++;
  return `10.9.${(lastAddress >> 8) & 255}.${lastAddress & 255}`;
}

/** Uses a key that does not exist, which is a security event. */
export function useUnknownKey(baseUrl: string, address: string): Promise<number> {
  return statusOf(baseUrl, "sk-nobody", from(address));
}

/** An event that has only a kind, a count and a source. */
export function plainEvent(kind: string, count: number, sourceIp: string | null) {
  return { kind, count, account: null, keyId: null, userEmail: null, sourceIp, upstream: null };
}
