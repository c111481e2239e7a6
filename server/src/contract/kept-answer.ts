/** The id of a claim: the right of one node to answer a request with an idempotency key. */
export type ClaimId = string & { readonly __id: "claim" };

/** The stored answer to a request with an idempotency key. */
export interface KeptAnswer {
  /** Whether the answer was a stream. Then the text has all of its server-sent events, including the last one. */
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
  /** `null`: the answer was too long to be kept. Only the fact that the request was answered is kept. */
  readonly answer: KeptAnswer | null;
}
