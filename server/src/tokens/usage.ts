/** Tokens as the upstream counted them, checked to be whole numbers from 0 up. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the prompt's tokens, those read from the upstream's cache. */
  readonly cachedTokens: number;
}
