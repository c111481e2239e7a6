import { Dialog as Base } from "@base-ui/react/dialog";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { api, queryClient } from "../api/client.ts";
import { errorTextOf } from "../api/errors.ts";
import { Badge } from "./Badge.tsx";
import buttonStyles from "./Button.module.css";
import { Button } from "./Button.tsx";
import { ConnectionLost } from "./ConnectionLost.tsx";
import { CreditBanner } from "./CreditBanner.tsx";
import { classes } from "./classes.ts";
import dialogStyles from "./Dialog.module.css";
import markStyles from "./Mark.module.css";
import { Mark } from "./Mark.tsx";
import { Navigation } from "./Navigation.tsx";
import { Notice } from "./Notice.tsx";
import { ACCOUNT_PAGES, OPERATOR_PAGES } from "./pages.ts";
import styles from "./Shell.module.css";
import { Shortcuts } from "./Shortcuts.tsx";
import { SuspensionBanner } from "./SuspensionBanner.tsx";
import { clearSession } from "./storage.ts";
import { ThemeChoice } from "./ThemeChoice.tsx";
import textStyles from "./text.module.css";
import { useFocusOnArrival } from "./use-focus-on-arrival.ts";

/** The frame of every page for a signed-in user. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const navigate = useNavigate();
  const me = useQuery(api.auth.me.queryOptions());
  const signOut = useMutation(
    api.auth.signOut.mutationOptions({
      onSuccess: async () => {
        queryClient.clear();
        clearSession();
        await navigate({ to: "/sign-in" });
      },
    }),
  );
  const account = me.data?.account;
  const groups = me.data?.user.role === "operator" ? OPERATOR_PAGES : ACCOUNT_PAGES;
  const pages = useMemo(() => groups.flatMap((group) => group.pages), [groups]);
  useFocusOnArrival();

  const rest = (
    <div className={styles.sideFoot}>
      <ThemeChoice />
      <div className={styles.who}>
        <span className={textStyles.pair}>
          <span className={textStyles.cut} title={account?.name}>
            {account?.name ?? "Operator"}
          </span>
          <span className={classes(textStyles.small, textStyles.cut)} title={me.data?.user.email}>
            {me.data?.user.email}
          </span>
        </span>
        {account == null ? null : <Badge>{account.plan}</Badge>}
      </div>
      <Button busy={signOut.isPending} onClick={() => signOut.mutate()}>
        Sign out
      </Button>
    </div>
  );

  return (
    <div className={styles.shell}>
      <a className={styles.skipLink} href="#main">
        Skip to content
      </a>
      <header className={styles.side}>
        <div className={styles.sideHead}>
          <Brand isOperator={account == null} />
          <Base.Root open={isMenuOpen} onOpenChange={setMenuOpen}>
            <Base.Trigger className={classes(buttonStyles.button, styles.menuButton)}>Menu</Base.Trigger>
            <Base.Portal>
              <Base.Backdrop className={dialogStyles.backdrop} />
              <Base.Popup className={styles.drawer}>
                <div className={styles.sideHead}>
                  <Base.Title>Menu</Base.Title>
                  <Base.Close className={buttonStyles.button}>Close</Base.Close>
                </div>
                <Navigation groups={groups} onFollow={() => setMenuOpen(false)} />
                {rest}
              </Base.Popup>
            </Base.Portal>
          </Base.Root>
        </div>
        <div className={styles.sideBody}>
          <Navigation groups={groups} />
          {rest}
        </div>
      </header>
      <div className={styles.page}>
        <ConnectionLost />
        {signOut.error === null ? null : (
          <Notice tone="error">
            <p>You are still signed in. {errorTextOf(signOut.error)}</p>
          </Notice>
        )}
        {account === null ? <SettingsWarnings /> : null}
        {account?.state === "suspended" ? <SuspensionBanner /> : null}
        {account?.state === "active" ? <CreditBanner /> : null}
        <main id="main" tabIndex={-1} className={styles.main}>
          <Outlet />
        </main>
      </div>
      <Shortcuts pages={pages} />
    </div>
  );
}

/** Warnings about settings of the service that an operator should change. */
function SettingsWarnings() {
  const found = useQuery(
    api.operator.warnings.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }),
  );
  return found.data?.warnings.map((warning) => (
    <Notice key={warning} tone="warning">
      <p>{warning}</p>
    </Notice>
  ));
}

function Brand({ isOperator }: { readonly isOperator: boolean }) {
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  return (
    <Link to={isOperator ? "/operator" : "/"} className={markStyles.brand}>
      <Mark />
      <span>{info.data?.serviceName ?? ""}</span>
    </Link>
  );
}
