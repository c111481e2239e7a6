import { client } from "../../api/client.ts";
import { loadErrorTextOf } from "../../api/errors.ts";
import type { AccountView, IpVerdict } from "../../api/types.ts";
import listsStyles from "../../components/lists.module.css";
import panelStyles from "../../components/Panel.module.css";
import { TestAddress } from "../../components/TestAddress.tsx";
import textStyles from "../../components/text.module.css";

const VERDICTS: Readonly<Record<IpVerdict, string>> = {
  passes: "Requests from this address are allowed.",
  reported: "Requests from this address are allowed and marked as outside the rules in the request log.",
  blocked: "Requests from this address are refused with 403.",
};

/** The networks that keys may be used from. Only operators can change them. */
export function IpRules({ account }: { readonly account: AccountView }) {
  return (
    <section className={panelStyles.panel} aria-labelledby="ip-rules">
      <h2 id="ip-rules">IP rules</h2>
      <p>{describe(account)}</p>
      {account.ipRules.networks.length === 0 ? null : (
        <ul className={listsStyles.chips}>
          {account.ipRules.networks.map((network) => (
            <li key={network}>
              <code>{network}</code>
            </li>
          ))}
        </ul>
      )}
      <p className={textStyles.small}>
        The operator of the service sets IP rules for enterprise accounts. Contact them to change the rules.
      </p>
      <TestAddress
        ask={(address) => client.account.tryAddress.query({ address })}
        rules={[account.plan, account.ipRules]}
        errorText={loadErrorTextOf}
      >
        {({ verdict }) => <p>{VERDICTS[verdict]}</p>}
      </TestAddress>
    </section>
  );
}

function describe({ ipRules, ipRulesInForce, plan }: AccountView): string {
  if (ipRules.networks.length === 0) return "Keys may be used from every address.";
  if (!ipRulesInForce) {
    return `These rules are stored but not enforced. They require the enterprise plan; this account is on the ${plan} plan.`;
  }
  return ipRules.mode === "report"
    ? "Report only: requests from other addresses are allowed and marked in the request log."
    : "Keys and management tokens may be used from these addresses only.";
}
