import type { AccountDetails } from "../../../api/types.ts";
import { formatDateTime } from "../../../components/format.ts";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";

/** Whether the account is suspended, and why. */
export function State({ account: { suspension } }: { readonly account: AccountDetails }) {
  return (
    <section className={panelStyles.panel} aria-labelledby="state">
      <h2 id="state">State</h2>
      {suspension === null ? (
        <p>The account is active. Its keys work.</p>
      ) : (
        <>
          <p>
            Suspended since {formatDateTime(suspension.at)}. Every request with a key of this account is
            refused.
          </p>
          <p className={textStyles.quotation}>{suspension.reason}</p>
        </>
      )}
    </section>
  );
}
