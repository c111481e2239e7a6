import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { api } from "../api/client.ts";
import { errorTextOf, isRefused, isUnreachable, loadErrorTextOf } from "../api/errors.ts";
import { Menu as MenuIcon } from "../icons/icons.ts";
import { AccountMenu } from "./AccountMenu.tsx";
import buttonStyles from "./Button.module.css";
import { Button } from "./Button.tsx";
import { CreditBanner } from "./CreditBanner.tsx";
import { classes } from "./classes.ts";
import { LazyDialog } from "./lazy.tsx";
import { Deferred, lazyCode, usePreload } from "./lazy-code.tsx";
import markStyles from "./Mark.module.css";
import { Mark } from "./Mark.tsx";
import { menuPopup } from "./Menu.tsx";
import { Navigation } from "./Navigation.tsx";
import { Notice, scrollIntoSight } from "./Notice.tsx";
import { PageWarning } from "./PageWarning.tsx";
import { PaletteButton } from "./PaletteButton.tsx";
import { ACCOUNT_PAGES, OPERATOR_PAGES } from "./pages.ts";
import styles from "./Shell.module.css";
import { Shortcuts, shortcutsDialog } from "./Shortcuts.tsx";
import { SuspensionBanner } from "./SuspensionBanner.tsx";
import { useSigningOut } from "./signing-out.ts";
import { Toasts, toastList } from "./Toasts.tsx";
import { tooltipPopup } from "./Tooltip.tsx";
import textStyles from "./text.module.css";
import { useFocusOnArrival } from "./use-focus-on-arrival.ts";
import { useKeptFocus } from "./use-kept-focus.ts";
import { useOneUser } from "./use-one-user.ts";
import { useTypeAhead } from "./use-type-ahead.ts";

const drawer = lazyCode(async () => (await import("./Drawer.tsx")).Drawer);
const palette = lazyCode(async () => (await import("./palette/Palette.tsx")).Palette);

/** What is loaded when the page has been open for a while. */
const LATER = [
  menuPopup.preload,
  tooltipPopup.preload,
  toastList.preload,
  palette.preload,
  drawer.preload,
  shortcutsDialog.preload,
];

/** The frame of every page for a signed-in user. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isShortcutsOpen, setShortcutsOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const takeTyped = useTypeAhead(isPaletteOpen, () => setPaletteOpen(false));
  const me = useQuery(api.auth.me.queryOptions());
  const signingOut = useSigningOut();
  const signOut = useMutation(
    api.auth.signOut.mutationOptions({
      ...signingOut,
      onError: (error) => {
        signingOut.onError(error);
        // What went wrong is said on the page, which the drawer covers.
        setMenuOpen(false);
      },
    }),
  );
  const account = me.data?.account;
  const groups = me.data?.user.role === "operator" ? OPERATOR_PAGES : ACCOUNT_PAGES;
  const pages = useMemo(() => groups.flatMap((group) => group.pages), [groups]);
  useOneUser(me.data?.user.id);
  useFocusOnArrival();
  useKeptFocus();
  usePreload(LATER);

  const accountMenu = (
    <AccountMenu
      name={account?.name ?? "Operator"}
      email={me.data?.user.email ?? ""}
      plan={account?.plan}
      isSigningOut={signOut.isPending}
      onSignOut={() => signOut.mutate()}
      onShowShortcuts={() => {
        setMenuOpen(false);
        setShortcutsOpen(true);
      }}
    />
  );
  const searchButton = (
    <PaletteButton
      onOpen={() => {
        setMenuOpen(false);
        setPaletteOpen(true);
      }}
    />
  );

  return (
    <div className={styles.shell}>
      <a className={styles.skipLink} href="#main">
        Skip to content
      </a>
      <header className={styles.side}>
        <div className={styles.sideHead}>
          <Brand isOperator={account == null} />
          <MenuDrawer isOpen={isMenuOpen} setOpen={setMenuOpen}>
            {searchButton}
            <Navigation groups={groups} onFollow={() => setMenuOpen(false)} />
            {accountMenu}
          </MenuDrawer>
        </div>
        <div className={styles.sideBody}>
          {searchButton}
          <Navigation groups={groups} />
          {accountMenu}
        </div>
      </header>
      <div className={styles.page}>
        <PageWarning />
        {signOut.error === null ? null : (
          <Notice tone="error" ref={scrollIntoSight}>
            <p>
              {isRefused(signOut.error) ? "You are still signed in." : "You may still be signed in."}{" "}
              {errorTextOf(signOut.error)}
            </p>
          </Notice>
        )}
        {account === null ? <SettingsWarnings /> : null}
        {account?.state === "suspended" ? <SuspensionBanner /> : null}
        {account?.state === "active" ? <CreditBanner /> : null}
        <main id="main" tabIndex={-1} className={styles.main}>
          <Outlet />
        </main>
      </div>
      <Shortcuts
        pages={pages}
        isOpen={isShortcutsOpen}
        setOpen={setShortcutsOpen}
        onPalette={() => setPaletteOpen(true)}
      />
      {isPaletteOpen ? (
        <LazyDialog
          code={palette}
          props={{
            pages,
            isOperator: me.data?.user.role === "operator",
            takeTyped,
            onSignOut: () => signOut.mutate(),
            onShowShortcuts: () => setShortcutsOpen(true),
            onClose: () => setPaletteOpen(false),
          }}
        />
      ) : null}
      <Toasts />
    </div>
  );
}

interface MenuDrawerProps {
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  /** What is in the drawer. */
  readonly children: ReactNode;
}

/** The menu of a narrow window: a button, and the drawer that it opens. */
function MenuDrawer({ isOpen, setOpen, children }: MenuDrawerProps) {
  // The drawer stays after it was first opened, and moves the focus when it closes.
  const [isNeeded, setNeeded] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <>
      <button
        ref={button}
        type="button"
        className={classes(buttonStyles.button, buttonStyles.buttonQuiet, styles.menuButton)}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => {
          setNeeded(true);
          setOpen(true);
        }}
        onFocus={drawer.preload}
        onPointerOver={drawer.preload}
      >
        <MenuIcon size={18} aria-hidden="true" />
        Menu
      </button>
      {isNeeded ? <Deferred code={drawer} props={{ isOpen, setOpen, opener: button, children }} /> : null}
    </>
  );
}

/** Warnings about settings of the service that an operator should change. */
function SettingsWarnings() {
  const found = useQuery(
    api.operator.warnings.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }),
  );
  // A lost connection has a notice of its own.
  if (found.data === undefined && found.isError && !isUnreachable(found.error)) {
    return (
      <Notice tone="warning">
        <p>Warnings about settings could not be loaded. {loadErrorTextOf(found.error)}</p>
        <Button busy={found.isFetching} onClick={() => void found.refetch()}>
          Try again
        </Button>
      </Notice>
    );
  }
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
      {info.data === undefined ? (
        <span className={textStyles.visuallyHidden}>Home</span>
      ) : (
        <span>{info.data.serviceName}</span>
      )}
    </Link>
  );
}
