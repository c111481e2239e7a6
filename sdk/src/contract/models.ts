/** A model of the catalog. */
export interface Model {
  readonly id: string;
  readonly object: "model";
  /** Unix seconds. */
  readonly created: number;
  readonly owned_by: string;
  /** Whether the model is a sandbox model. */
  readonly sandbox: boolean;
  readonly aliases: readonly string[];
  readonly context_tokens: number | null;
  readonly max_output_tokens: number | null;
  readonly modalities: { readonly input: readonly string[]; readonly output: readonly string[] };
  /** `null` for free models. */
  readonly pricing: ModelPricing | null;
  /** Not enumerable. Only on a model that was retrieved by id. */
  readonly _request_id?: string | null;
  /** Fields that a newer service may add. */
  readonly [field: string]: unknown;
}

/** Decimal USD per million tokens, as exact strings. */
export interface ModelPricing {
  readonly input_usd_per_mtok: string;
  readonly cached_input_usd_per_mtok: string;
  readonly output_usd_per_mtok: string;
  /** For each image in a prompt, in addition to its tokens. */
  readonly image_usd: string;
}

/** The answer of `models.list`. */
export interface ModelList {
  readonly object: "list";
  readonly data: readonly Model[];
}
