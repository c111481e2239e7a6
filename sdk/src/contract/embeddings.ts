/** Parameters of `embeddings.create`. Send parameters that are not typed here in `extra_body`. */
export interface EmbeddingCreateParams {
  /** Id or alias of a model of the catalog. */
  readonly model: string;
  /** A text, up to 2,048 texts, or the same as tokens. */
  readonly input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  /** `base64`: the bytes of 32-bit floats. Default `float`. */
  readonly encoding_format?: "float" | "base64" | null;
  /** The length of each vector: 1 or more. Default: the model's. */
  readonly dimensions?: number | null;
  /** A stable pseudonym of the end user, by which the model's server finds abuse. */
  readonly user?: string;
  /** Fields that are added to the body, unchanged. */
  readonly extra_body?: Readonly<Record<string, unknown>> | undefined;
}

/** The vector of one input. */
export interface Embedding {
  readonly object: "embedding";
  readonly index: number;
  /** A string if `encoding_format` is `base64`. */
  readonly embedding: readonly number[];
}

/** The answer of `embeddings.create`: a vector for each input, in order. */
export interface CreateEmbeddingResponse {
  readonly object: "list";
  readonly data: readonly Embedding[];
  readonly model: string;
  readonly usage?: { readonly prompt_tokens: number; readonly total_tokens: number };
  /** Hidden: not enumerable. */
  readonly _request_id?: string | null;
}
