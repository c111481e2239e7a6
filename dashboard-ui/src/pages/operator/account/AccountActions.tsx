import { useState } from "react";
import type { AccountDetails } from "../../../api/types.ts";
import buttonStyles from "../../../components/Button.module.css";
import { Menu, type MenuAction } from "../../../components/Menu.tsx";
import { ChevronDown } from "../../../icons/icons.ts";
import { GrantCredit } from "./GrantCredit.tsx";
import { PlanDialog } from "./PlanDialog.tsx";
import { Reinstate } from "./Reinstate.tsx";
import { ResetPassword } from "./ResetPassword.tsx";
import { Suspend } from "./Suspend.tsx";

type Chosen =
  | { readonly dialog: "plan" | "credit" | "suspend" | "reinstate" }
  | { readonly dialog: "password"; readonly email: string };

/** The menu of the changes to an account. The destructive ones stand apart. */
export function AccountActions({ account }: { readonly account: AccountDetails }) {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const daily: readonly MenuAction[] = [
    { label: "Change plan", onSelect: () => setChosen({ dialog: "plan" }) },
    { label: "Grant or deduct credit", onSelect: () => setChosen({ dialog: "credit" }) },
    ...(account.suspension === null
      ? []
      : [{ label: "Reinstate account", onSelect: () => setChosen({ dialog: "reinstate" }) }]),
  ];
  const destructive: readonly MenuAction[] = [
    ...account.users.map(
      ({ email }): MenuAction => ({
        label: account.users.length === 1 ? "Reset password" : `Reset password of ${email}`,
        tone: "danger",
        onSelect: () => setChosen({ dialog: "password", email }),
      }),
    ),
    ...(account.suspension === null
      ? [
          {
            label: "Suspend account",
            tone: "danger" as const,
            onSelect: () => setChosen({ dialog: "suspend" }),
          },
        ]
      : []),
  ];
  return (
    <>
      <Menu
        parts={[daily, destructive].filter((part) => part.length > 0)}
        trigger={(trigger) => (
          <button type="button" className={buttonStyles.button} {...trigger}>
            Actions
            <ChevronDown size={16} aria-hidden="true" />
          </button>
        )}
      />
      {chosen === null ? null : (
        <ChosenDialog account={account} chosen={chosen} onClose={() => setChosen(null)} />
      )}
    </>
  );
}

interface ChosenDialogProps {
  readonly account: AccountDetails;
  readonly chosen: Chosen;
  readonly onClose: () => void;
}

function ChosenDialog({ account, chosen, onClose }: ChosenDialogProps) {
  switch (chosen.dialog) {
    case "plan":
      return <PlanDialog account={account} onClose={onClose} />;
    case "credit":
      return <GrantCredit account={account} onClose={onClose} />;
    case "suspend":
      return <Suspend account={account} onClose={onClose} />;
    case "reinstate":
      return <Reinstate account={account} onClose={onClose} />;
    case "password":
      return <ResetPassword email={chosen.email} onClose={onClose} />;
  }
}
