/** A keyed digest of each setting that the nodes of an installation must share. Nodes of one version with one digest have one setting. */
export interface SettingDigests {
  /** Of the plans. */
  readonly plans: string;
  /** Of the models and their routes. */
  readonly catalog: string;
  /** Of the prices of the models. */
  readonly prices: string;
  /** Of the keys and the retention of stored responses. */
  readonly responses: string;
}

export type SharedSetting = keyof SettingDigests;
export const SHARED_SETTINGS = [
  "plans",
  "catalog",
  "prices",
  "responses",
] as const satisfies readonly SharedSetting[];

/** What an operator sets for each of the shared settings, as the beginning of a sentence. */
export const SET_BY: Readonly<Record<SharedSetting, string>> = {
  plans: "OSTIARY_PLANS",
  catalog: "OSTIARY_CATALOG and the file that it names",
  prices: "the catalog file of OSTIARY_CATALOG",
  responses: "OSTIARY_RESPONSES_KEY and OSTIARY_RESPONSES_TTL_DAYS",
};

/** A running node and its settings. */
export interface NodeSettings {
  /** The id of the node, which it keeps in its data folder. */
  readonly nodeId: string;
  /** The host, process and data folder of the node, for people to read. */
  readonly label: string;
  /** The version of the service; `null`: one that does not report its settings. */
  readonly version: string | null;
  /** Keyed digests of the settings that nodes must share; `null`: the node does not report them. */
  readonly digests: SettingDigests | null;
}

/** A setting that another node has with another value than the answering node. */
export interface SettingDifference {
  /** Which setting: `plans`, `catalog` (models and routes), `prices`, or `responses` (keys and retention of stored responses). */
  readonly setting: SharedSetting;
  /** The other nodes: host, process and data folder of each. */
  readonly nodes: readonly string[];
  /** When the answering node noticed it. */
  readonly since: Date;
  /** Whether it has lasted for 10 minutes, longer than most rolling changes take. */
  readonly isLasting: boolean;
}
