import type { AccountDetails } from "../../../api/types.ts";
import { formatDateTime } from "../../../components/format.ts";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";

interface StateProps {
  readonly suspension: NonNullable<AccountDetails["suspension"]>;
}

/** Since when the account is suspended, and why. */
export function State({ suspension: { at, reason } }: StateProps) {
  return (
    <section className={panelStyles.panel} aria-labelledby="state">
      <h2 id="state">State</h2>
      <p>Suspended since {formatDateTime(at)}. Every request with a key of this account is refused.</p>
      <p className={textStyles.quotation}>{reason}</p>
    </section>
  );
}
