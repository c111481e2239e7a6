/** All in milliseconds. */
export interface TransportTimeouts {
  readonly connectMs: number;
  /** From the request sent to the answer's headers. */
  readonly firstByteMs: number;
  /** Between two chunks of the answer's body. */
  readonly idleMs: number;
}
