import { type Account, type IpRules, rulesInForce } from "../contract/account.ts";
import { type Networks, parseNetworks } from "../networks/networks.ts";

/** The verdict of IP rules. `reported`: the request passes, and its entry records that it would have been refused. */
export type IpVerdict = "passes" | "reported" | "blocked";

/** Applies IP rules. It parses each rule object once. */
export class IpRuleBook {
  readonly #parsed = new WeakMap<IpRules, Networks>();

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
    const { networks } = parseNetworks(rules.networks);
    this.#parsed.set(rules, networks);
    return networks;
  }
}
