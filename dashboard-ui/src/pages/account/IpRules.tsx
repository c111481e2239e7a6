import { type SubmitEvent, useState } from "react";
import { client } from "../../api/client.ts";
import { errorTextOf } from "../../api/errors.ts";
import type { AccountView, IpVerdict } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { Field } from "../../components/Field.tsx";
import formStyles from "../../components/form.module.css";
import listsStyles from "../../components/lists.module.css";
import panelStyles from "../../components/Panel.module.css";
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
      <TryAddress />
    </section>
  );
}

function describe({ ipRules, ipRulesInForce, plan }: AccountView): string {
  if (ipRules.networks.length === 0) return "Keys may be used from every address.";
  if (!ipRulesInForce) {
    return `These rules are stored but not enforced. They require the enterprise plan; this account is on ${plan}.`;
  }
  return ipRules.mode === "report"
    ? "Report only: requests from other addresses are allowed and marked in the request log."
    : "Keys and management tokens may be used from these addresses only.";
}

function TryAddress() {
  const [address, setAddress] = useState("");
  const [answer, setAnswer] = useState<{ readonly text: string } | { readonly error: string } | null>(null);
  const [isAsking, setAsking] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setAsking(true);
    try {
      const { verdict } = await client.account.tryAddress.query({ address });
      setAnswer({ text: VERDICTS[verdict] });
    } catch (error) {
      setAnswer({ error: errorTextOf(error) });
    }
    setAsking(false);
  };
  return (
    <form className={formStyles.inlineForm} onSubmit={submit}>
      <Field
        label="Test an address"
        placeholder="192.0.2.7"
        autoComplete="off"
        required
        value={address}
        error={answer !== null && "error" in answer ? answer.error : undefined}
        onChange={(event) => {
          setAddress(event.target.value);
          setAnswer(null);
        }}
      />
      <Button type="submit" busy={isAsking}>
        Check
      </Button>
      <p role="status">{answer !== null && "text" in answer ? answer.text : ""}</p>
    </form>
  );
}
