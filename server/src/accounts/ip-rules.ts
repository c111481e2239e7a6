import { type Account, type IpRules, rulesInForce } from "../contract/account.ts";
import { type Networks, parseNetworks } from "../networks/networks.ts";

/** What IP rules say of a request. `reported`: it passes, and is to be remembered as one that would not have. */
export type IpVerdict = "passes" | "reported" | "blocked";

/** Decides by IP rules, which are parsed once for as long as somebody holds them. */
export class IpRuleBook {
  readonly #parsed = new WeakMap<IpRules, Networks>();

  /** @param address the client's; `null`, when it could not be told, is inside no rule. */
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
