import { client } from "../../../api/client.ts";
import { errorFieldOf, loadErrorTextOf } from "../../../api/errors.ts";
import type { AccountDetails, IpVerdict } from "../../../api/types.ts";
import { classes } from "../../../components/classes.ts";
import { TestAddress } from "../../../components/TestAddress.tsx";
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

/** Tests an address against the current rules and against the typed ones. */
export function TryAddress({ account, rules, isDifferent }: TryAddressProps) {
  const { id, plan, ipRules } = account;
  const isEnterprise = plan === "enterprise";
  const ask = async (address: string) => {
    const { tryIpRules } = client.operator.accounts;
    const [inForce, typed] = await Promise.all([
      tryIpRules.query({ id, address }),
      tryIpRules.query({ id, address, rules }),
    ]);
    return { inForce: inForce.verdict, typed: typed.verdict };
  };
  return (
    <TestAddress ask={ask} rules={[rules, plan, ipRules]} className={styles.tryAddress} errorText={problemOf}>
      {({ inForce, typed }) => (
        <dl className={styles.verdicts}>
          {isDifferent || !isEnterprise ? (
            <Verdict
              by={isDifferent ? "As typed" : "If enforced"}
              verdict={typed}
              note={isEnterprise ? "" : " on the enterprise plan"}
            />
          ) : null}
          <Verdict by="In force now" verdict={inForce} note="" />
        </dl>
      )}
    </TestAddress>
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
  const words = loadErrorTextOf(error);
  return errorFieldOf(error) === "address" ? words : `The rules can't be tested. ${words}`;
}
