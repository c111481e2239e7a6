/** Parameters of `embeddings.create`. Send parameters that are not typed here in `extra_body`. */
export interface EmbeddingCreateParams {
  /** Id or alias of a model of the catalog. */
  readonly model: string;
  /** A text, up to 2,048 texts, or the same as tokens. */
  readonly input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  /** The form of the vectors: numbers, or the bytes of 32-bit floats in Base64. Default `float`. */
  readonly encoding_format?: "float" | "base64" | null | undefined;
  /** The length of each vector: 1 or more. Default: the model's. */
  readonly dimensions?: number | null | undefined;
  /** A stable pseudonym of the end user, by which the model's server finds abuse. */
  readonly user?: string | undefined;
  /** Fields that are added to the body, unchanged. */
  readonly extra_body?: Readonly<Record<string, unknown>> | undefined;
}

/** The vector of one input. */
export interface Embedding {
  /** The kind of the object. */
  readonly object: "embedding";
  /** The number of the input, from 0. */
  readonly index: number;
  /** The vector. A string if `encoding_format` is `base64`. */
  readonly embedding: readonly number[];
}

/** The answer of `embeddings.create`: a vector for each input, in order. */
export interface CreateEmbeddingResponse {
  /** The kind of the object. */
  readonly object: "list";
  /** The vectors, in the order of the inputs. */
  readonly data: readonly Embedding[];
  /** The catalog's id of the model. */
  readonly model: string;
  /** The number of tokens, by which the request is charged. */
  readonly usage?: {
    /** Tokens of the inputs. */
    readonly prompt_tokens: number;
    /** The same number. */
    readonly total_tokens: number;
  };
  /** The `x-request-id` of the answer. Not enumerable. */
  readonly _request_id?: string | null;
}
