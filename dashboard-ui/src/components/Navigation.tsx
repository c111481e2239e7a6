import { Link, useLocation } from "@tanstack/react-router";
import { useId } from "react";
import styles from "./Navigation.module.css";
import { DOCS_ICON, PAGE_ICONS } from "./page-icons.ts";
import type { PageGroup } from "./pages.ts";

interface NavigationProps {
  readonly groups: readonly PageGroup[];
  readonly onFollow?: () => void;
}

/** The navigation, with its pages in groups, and the documentation. */
export function Navigation({ groups, onFollow }: NavigationProps) {
  const id = useId();
  const { pathname } = useLocation();
  return (
    <nav aria-label="Main" className={styles.navigation}>
      {groups.map(({ title, pages }, index) => (
        <div key={title}>
          {title === null ? null : (
            <p id={`${id}-${index}`} className={styles.navigationTitle}>
              {title}
            </p>
          )}
          <ul aria-labelledby={title === null ? undefined : `${id}-${index}`}>
            {pages.map(({ to, label }) => {
              const Icon = PAGE_ICONS[to];
              return (
                <li key={to}>
                  <Link
                    to={to}
                    // On the page of one account or key, `isWithin` marks the link to its list.
                    activeOptions={{ exact: true, includeSearch: false }}
                    activeProps={{ "aria-current": "page" }}
                    aria-current={isWithin(to, pathname) ? "page" : undefined}
                    onClick={onFollow}
                  >
                    <Icon size={16} aria-hidden="true" />
                    {label}
                  </Link>
                </li>
              );
            })}
          </ul>
        </div>
      ))}
      <ul>
        <li>
          <a href="/docs">
            <DOCS_ICON size={16} aria-hidden="true" />
            Docs
          </a>
        </li>
      </ul>
    </nav>
  );
}

function isWithin(to: string, pathname: string): boolean {
  return pathname.startsWith(to === "/operator" ? "/operator/accounts/" : `${to}/`);
}
