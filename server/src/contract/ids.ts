/**
 * One life of a node, as far as it spends credit: each start of a process has a new one. The database numbers them and
 * never gives a number twice, so nothing that names a closed spender can ever mean another.
 */
export type SpenderId = bigint & { readonly __id: "spender" };

export type LedgerEntryId = string & { readonly __id: "ledger-entry" };

/** The token's UUIDv7. Not its token ID, which is the last 4 characters of the token. */
export type TokenUuid = string & { readonly __id: "management-token" };
