import { createHmac } from "node:crypto";
import { SECOND_MS } from "../../../sdk/src/contract/time-units.ts";
import { SettingsComparison } from "../admission/settings-comparison.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Config } from "../config/config.ts";
import { SET_BY, type SettingDigests, type SharedSetting } from "../contract/node-settings.ts";
import type { Plans } from "../contract/plans.ts";
import { nodeLabel } from "./node-id.ts";
import type { OpenNode } from "./open-node.ts";
import type { Startup } from "./startup.ts";

const COMPARE_MS = 5 * SECOND_MS;
/** Enough that different settings have different digests, and too little to find a setting by its digest. */
const DIGEST_BYTES = 6;

/** Opens the comparison of this node's settings with those of the other nodes. */
export function openNodeSettings(
  { settings: { config, plans }, version, log, jobs, now, monotonicMs }: Startup,
  { id, macSecret, nodeSettings }: OpenNode,
  catalog: Catalog,
): SettingsComparison {
  const digests = digestsOf(macSecret, { config, plans, catalog });
  const comparison = new SettingsComparison({
    own: () => ({ nodeId: id, label: nodeLabel(config.dataDir), version, digests: digests() }),
    exchange: nodeSettings,
    now,
    monotonicMs,
    onLasting: (setting, nodes) => {
      if (nodes === null) log.info({ setting }, "nodes have the same setting again");
      else {
        log.warn(
          { setting, nodes },
          `other nodes have had other ${setting} than this node for 10 minutes: ${SET_BY[setting]} must be the same on all nodes`,
        );
      }
    },
  });
  jobs.add({
    name: "compare settings with the other nodes",
    everyMs: COMPARE_MS,
    run: () => comparison.compare(),
  });
  return comparison;
}

/** Returns the function that computes the digests. It computes those of the catalog when the catalog was replaced. */
function digestsOf(
  secret: Uint8Array,
  {
    config,
    plans,
    catalog,
  }: {
    readonly config: Config;
    readonly plans: Plans;
    readonly catalog: Pick<Catalog, "models" | "upstreams">;
  },
): () => SettingDigests {
  const digest = (setting: SharedSetting, value: unknown) =>
    createHmac("sha256", secret)
      .update(`ostiary node settings\n${setting}\n${canonicalJson(value)}`)
      .digest("hex")
      .slice(0, 2 * DIGEST_BYTES);
  const [first, ...others] = config.responsesKeys.map((key) => Buffer.from(key).toString("hex"));
  const compute = (): SettingDigests => {
    const models = [...catalog.models].sort((one, other) => (one.id < other.id ? -1 : 1));
    return {
      plans: digest("plans", plans),
      // The time at which a model was added is that of each node. A credential is written as a placeholder.
      catalog: digest("catalog", {
        models: models.map(({ created: _, prices: __, ...model }) => model),
        upstreams: Object.fromEntries(catalog.upstreams),
      }),
      prices: digest(
        "prices",
        models.map(({ id, prices }) => [id, prices]),
      ),
      // The first key encrypts. The order of the others does not matter.
      responses: digest("responses", {
        ttlDays: config.responsesTtlDays,
        encryptsWith: first ?? null,
        decryptsWith: others.sort(),
      }),
    };
  };
  let computed = { models: catalog.models, digests: compute() };
  return () => {
    if (computed.models !== catalog.models) computed = { models: catalog.models, digests: compute() };
    return computed.digests;
  };
}

/** JSON with the members of objects in the order of their names, and big integers as texts. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "bigint") return String(part);
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}
