/** A model of the catalog. */
export interface Model {
  /** The id of the model, which requests name. */
  readonly id: string;
  /** The kind of the object. */
  readonly object: "model";
  /** When the model was added to the catalog, in Unix seconds. */
  readonly created: number;
  /** The organization that made the model. */
  readonly owned_by: string;
  /** Whether the model is a sandbox model, which answers without a real model. */
  readonly sandbox: boolean;
  /** Other names by which requests may name the model. */
  readonly aliases: readonly string[];
  /** The maximum tokens of prompt and answer together; `null`: unknown. */
  readonly context_tokens: number | null;
  /** The maximum tokens of one answer; `null`: unknown. */
  readonly max_output_tokens: number | null;
  /** What the model reads and writes: `text`, `image`, `audio`, `video`, `file`, `embedding`. */
  readonly modalities: {
    /** What a prompt may contain. */
    readonly input: readonly string[];
    /** What an answer may contain. */
    readonly output: readonly string[];
  };
  /** The prices in USD, as exact decimal strings; `null`: the model is free. */
  readonly pricing: ModelPricing | null;
  /** The `x-request-id` of the answer. Not enumerable. Only on a model that was retrieved by id. */
  readonly _request_id?: string | null;
  /** Fields that a newer service may add. */
  readonly [field: string]: unknown;
}

/**
 * Prices in USD, as exact decimal strings such as `"0.15"`. All are present: where the catalog sets no price for a kind of tokens, it is that
 * of input or output. Each token is charged once, even if it is of several kinds.
 */
export interface ModelPricing {
  /** For a million prompt tokens. */
  readonly input_usd_per_mtok: string;
  /** For a million prompt tokens that the upstream read from its cache. */
  readonly cached_input_usd_per_mtok: string;
  /** For a million prompt tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell. */
  readonly cache_write_usd_per_mtok: string;
  /** For a million prompt tokens that the upstream wrote to its cache for an hour. */
  readonly cache_write_1h_usd_per_mtok: string;
  /** For a million prompt tokens of recordings. */
  readonly audio_input_usd_per_mtok: string;
  /** For a million prompt tokens of images. */
  readonly image_input_usd_per_mtok: string;
  /** For a million tokens of answers. */
  readonly output_usd_per_mtok: string;
  /** For a million tokens of the model's reasoning. */
  readonly reasoning_usd_per_mtok: string;
  /** For a million tokens of spoken answers. */
  readonly audio_output_usd_per_mtok: string;
  /** For a million tokens of images in answers. */
  readonly image_output_usd_per_mtok: string;
  /** For each image in a prompt, in addition to its tokens. */
  readonly image_usd: string;
}

/** The answer of `models.list`. */
export interface ModelList {
  /** The kind of the object. */
  readonly object: "list";
  /** The models, in the order of the catalog. */
  readonly data: readonly Model[];
}
