import { useState } from "react";
import type { AccountDetails } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import { formatDateTime } from "../../../components/format.ts";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";
import { Reinstate } from "./Reinstate.tsx";
import { Suspend } from "./Suspend.tsx";

/** The account's state, with a button to suspend or reinstate it. */
export function State({ account }: { readonly account: AccountDetails }) {
  const [dialog, setDialog] = useState<"suspend" | "reinstate" | null>(null);
  const [done, setDone] = useState("");
  const { suspension } = account;
  const open = (which: "suspend" | "reinstate") => {
    setDone("");
    setDialog(which);
  };
  return (
    <section className={panelStyles.panel} aria-labelledby="state">
      <div className={panelStyles.panelHead}>
        <h2 id="state">State</h2>
        {/* One button serves both actions, so that the focus returns to it after the dialog. */}
        <Button onClick={() => open(suspension === null ? "suspend" : "reinstate")}>
          {suspension === null ? "Suspend" : "Reinstate"}
        </Button>
      </div>
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
      <p role="status">{done}</p>
      {dialog === "suspend" ? (
        <Suspend
          account={account}
          onDone={() => setDone("Account suspended.")}
          onClose={() => setDialog(null)}
        />
      ) : null}
      {dialog === "reinstate" ? (
        <Reinstate
          account={account}
          onDone={() => setDone("Account reinstated.")}
          onClose={() => setDialog(null)}
        />
      ) : null}
    </section>
  );
}
