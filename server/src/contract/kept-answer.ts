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
 * The answer to a request with an idempotency key, as the request's entry carries it: to the journal, and to the
 * transaction that charges the request, which keeps the answer. So a request is charged if and only if it counts as
 * answered.
 */
export interface KeyedAnswer {
  readonly claim: ClaimId;
  /** Base64. */
  readonly keyDigest: string;
  /** Base64. */
  readonly bodyDigest: string;
  /** `null`: only that it was answered is kept. */
  readonly answer: KeptAnswer | null;
}
