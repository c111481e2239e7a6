import { LRUCache } from "lru-cache";
import { type Account, type IpRules, rulesInForce } from "../contract/account.ts";
import { type Networks, parseNetworks } from "../networks/networks.ts";

/** The verdict of IP rules. `reported`: the request passes, and its entry records that it would have been refused. */
export type IpVerdict = "passes" | "reported" | "blocked";

/** The maximum of networks that are kept by their text. A parsed network takes about 150 bytes. */
const MAX_NETWORKS_KEPT = 100_000;

/**
 * Applies IP rules. It parses equal rules once: management tokens read their account at every call, and a thousand networks of IPv6 take more
 * than ten milliseconds.
 */
export class IpRuleBook {
  readonly #parsed = new WeakMap<IpRules, Networks>();
  readonly #byText = new LRUCache<string, { readonly networks: Networks; readonly count: number }>({
    maxSize: MAX_NETWORKS_KEPT,
    sizeCalculation: ({ count }) => count,
  });

  /** @param address the client's; `null`, when it is unknown, matches no rule. */
  judge(account: Pick<Account, "plan" | "ipRules">, address: string | null): IpVerdict {
    const rules = rulesInForce(account);
    if (rules === null) return "passes";
    if (address !== null && this.#networksOf(rules).contains(address)) return "passes";
    return rules.mode === "report" ? "reported" : "blocked";
  }

  #networksOf(rules: IpRules): Networks {
    const known = this.#parsed.get(rules);
    if (known !== undefined) return known;
    const networks = this.#networksOfText(rules.networks);
    this.#parsed.set(rules, networks);
    return networks;
  }

  #networksOfText(texts: readonly string[]): Networks {
    const text = texts.join("\n");
    const known = this.#byText.get(text);
    if (known !== undefined) return known.networks;
    const { networks } = parseNetworks(texts);
    this.#byText.set(text, { networks, count: texts.length });
    return networks;
  }
}
