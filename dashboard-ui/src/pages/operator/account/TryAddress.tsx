import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { client } from "../../../api/client.ts";
import { errorFieldOf, errorTextOf } from "../../../api/errors.ts";
import type { AccountDetails, IpVerdict } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import { classes } from "../../../components/classes.ts";
import { Field } from "../../../components/Field.tsx";
import styles from "./TryAddress.module.css";

interface TryAddressProps {
  readonly account: AccountDetails;
  /** The rules as typed. */
  readonly rules: { readonly mode: AccountDetails["ipRules"]["mode"]; readonly networks: string[] };
  readonly isDifferent: boolean;
}

const VERDICTS: Readonly<Record<IpVerdict, string>> = {
  passes: "allowed",
  reported: "allowed and reported",
  blocked: "refused with 403",
};

const NOTHING_ASKED = { data: undefined, error: null };

/** Tests an address against the current rules and against the typed ones. */
export function TryAddress({ account, rules, isDifferent }: TryAddressProps) {
  const [address, setAddress] = useState("");
  const attempt = useMutation({
    mutationFn: async (_question: string) => {
      const { tryIpRules } = client.operator.accounts;
      const [inForce, typed] = await Promise.all([
        tryIpRules.query({ id: account.id, address }),
        tryIpRules.query({ id: account.id, address, rules }),
      ]);
      return { inForce: inForce.verdict, typed: typed.verdict };
    },
  });
  const question = JSON.stringify([address, rules, account.plan, account.ipRules]);
  // A result for other rules or another address would mislead.
  const { data, error } = attempt.variables === question ? attempt : NOTHING_ASKED;

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    attempt.mutate(question);
  };
  const isEnterprise = account.plan === "enterprise";
  return (
    <form className={styles.tryAddress} onSubmit={submit}>
      <Field
        label="Test an address"
        placeholder="192.0.2.7"
        autoComplete="off"
        spellCheck={false}
        required
        value={address}
        error={error === null ? undefined : problemOf(error)}
        onChange={(event) => setAddress(event.target.value)}
      />
      <Button type="submit" busy={attempt.isPending}>
        Check
      </Button>
      <div role="status">
        {data === undefined ? null : (
          <dl className={styles.verdicts}>
            {isDifferent || !isEnterprise ? (
              <Verdict
                by={isDifferent ? "As typed" : "If enforced"}
                verdict={data.typed}
                note={isEnterprise ? "" : " on the enterprise plan"}
              />
            ) : null}
            <Verdict by="In force now" verdict={data.inForce} note="" />
          </dl>
        )}
      </div>
    </form>
  );
}

interface VerdictProps {
  readonly by: string;
  readonly verdict: IpVerdict;
  readonly note: string;
}

function Verdict({ by, verdict, note }: VerdictProps) {
  return (
    <div className={verdict === "blocked" ? classes(styles.verdict, styles.verdictBlocked) : styles.verdict}>
      <dt>{by}</dt>
      <dd>
        Request {VERDICTS[verdict]}
        {note}
      </dd>
    </div>
  );
}

/** The error of the test. The rules may be at fault, and they are not next to this field. */
function problemOf(error: unknown): string {
  const words = errorTextOf(error);
  return errorFieldOf(error) === "address" ? words : `The rules can't be tested. ${words}`;
}
