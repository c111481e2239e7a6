export type ClaimId = string & { readonly __id: "claim" };

/** What a request was answered with. */
export interface KeptAnswer {
  /** Whether it is a stream of server-sent events, all of which are in the text, the closing one included. */
  readonly isStream: boolean;
  readonly model: string;
  /** Encrypted where it is stored; see `Idempotency`. */
  readonly text: string;
}

/**
 * What the entry of an answered request with an idempotency key carries: to the journal, and to the transaction that charges the request,
 * which keeps the answer. So a request is charged if and only if it counts as answered.
 */
export interface IdempotencyRecord {
  readonly claim: ClaimId;
  /** SHA-256 of the endpoint and the idempotency key, in Base64. */
  readonly idempotencyKeyDigest: string;
  /** SHA-256 of the body as it was sent, in Base64. */
  readonly bodyDigest: string;
  /** `null`: only that it was answered is kept. */
  readonly answer: KeptAnswer | null;
}
