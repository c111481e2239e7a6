import { LRUCache } from "lru-cache";
import { type Account, rulesInForce } from "../accounts/account.ts";
import { type Networks, parseNetworks } from "./networks.ts";

/** What IP rules say of a request. `reported`: it passes, and is to be remembered as one that would not have. */
export type IpVerdict = "passes" | "reported" | "blocked";

const RULE_SETS_KEPT = 10_000;

/** Decides by IP rules, which are parsed once for all keys of an account. */
export class IpRuleBook {
  readonly #parsed = new LRUCache<string, Networks>({ max: RULE_SETS_KEPT });

  /** @param address the client's; `null`, when it could not be told, is inside no rule. */
  judge(account: Pick<Account, "plan" | "ipRules">, address: string | null): IpVerdict {
    const rules = rulesInForce(account);
    if (rules === null) return "passes";
    if (address !== null && this.#networksOf(rules.networks).contains(address)) return "passes";
    return rules.mode === "report" ? "reported" : "blocked";
  }

  #networksOf(texts: readonly string[]): Networks {
    const name = texts.join(" ");
    const known = this.#parsed.get(name);
    if (known !== undefined) return known;
    const { networks } = parseNetworks(texts);
    this.#parsed.set(name, networks);
    return networks;
  }
}
