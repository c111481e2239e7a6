/**
 * One start of a node, as far as it spends credit: each process is a new spender. The database numbers them and
 * never gives a number twice, so nothing that names a closed spender can ever mean another.
 */
export type SpenderId = bigint & { readonly __id: "spender" };

/** The UUIDv7 of an entry of the credit ledger. */
export type LedgerEntryId = string & { readonly __id: "ledger-entry" };

/** The token's UUIDv7. Not its token ID, which is the last 4 characters of the token. */
export type TokenUuid = string & { readonly __id: "management-token" };

const CANONICAL_UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** True for a UUID of any version in lower case, as the service and the database write it. */
export function isCanonicalUuid(text: string): boolean {
  return CANONICAL_UUID.test(text);
}

/** True for a UUID of any version, in upper or lower case, as people write it. */
export function isUuid(text: string): boolean {
  return isCanonicalUuid(text.toLowerCase());
}
