import { useSyncExternalStore } from "react";
import { ChevronsUpDown, Keyboard, LogOut, Monitor, Moon, Sun } from "../icons/icons.ts";
import styles from "./AccountMenu.module.css";
import { Badge } from "./Badge.tsx";
import { Email } from "./Email.tsx";
import { initialOf } from "./format.ts";
import { Menu } from "./Menu.tsx";
import { Spinner } from "./Spinner.tsx";
import textStyles from "./text.module.css";
import { chooseTheme, onThemeChange, readTheme, type Theme } from "./theme.ts";

const icon = { size: 16, "aria-hidden": true } as const;

const THEMES = [
  { value: "system", label: "Auto", icon: <Monitor {...icon} /> },
  { value: "light", label: "Light", icon: <Sun {...icon} /> },
  { value: "dark", label: "Dark", icon: <Moon {...icon} /> },
];

interface AccountMenuProps {
  readonly name: string;
  readonly email: string;
  /** Operators have no plan. */
  readonly plan: string | undefined;
  readonly isSigningOut: boolean;
  readonly onSignOut: () => void;
  readonly onShowShortcuts: () => void;
}

/** Who is signed in, and a menu of what concerns them. */
export function AccountMenu(props: AccountMenuProps) {
  const { name, email, plan, isSigningOut, onSignOut, onShowShortcuts } = props;
  const theme = useSyncExternalStore(onThemeChange, readTheme);
  return (
    <Menu
      side="top"
      align="start"
      head={
        <div className={styles.head}>
          <span className={styles.email}>
            <Email address={email} />
          </span>
          {plan === undefined ? null : <Badge>{plan}</Badge>}
        </div>
      }
      parts={[
        { label: "Theme", value: theme, options: THEMES, onChange: (value) => chooseTheme(value as Theme) },
        [
          { label: "Keyboard shortcuts", icon: <Keyboard {...icon} />, onSelect: onShowShortcuts },
          { label: "Sign out", icon: <LogOut {...icon} />, onSelect: onSignOut },
        ],
      ]}
      trigger={(trigger) => (
        <button type="button" className={styles.trigger} aria-busy={isSigningOut} {...trigger}>
          <span className={styles.avatar} aria-hidden="true">
            {isSigningOut ? <Spinner /> : initialOf(name)}
          </span>
          <span className={styles.who}>
            <span className={styles.name} dir="auto">
              {name}
            </span>
            <span className={styles.email}>
              <Email address={email} />
            </span>
          </span>
          <span className={textStyles.visuallyHidden}>Account menu</span>
          <ChevronsUpDown size={14} aria-hidden="true" className={styles.open} />
        </button>
      )}
    />
  );
}
