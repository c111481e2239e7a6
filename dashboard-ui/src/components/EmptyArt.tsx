import type { ReactNode } from "react";
import styles from "./EmptyArt.module.css";

/** What an empty list would hold. */
export type EmptyKind = "list" | "keys" | "log" | "search" | "money" | "chat" | "models" | "people";

/** Each drawing: a card of lines, behind a sign in a circle. */
const SIGNS: Readonly<Record<EmptyKind, ReactNode>> = {
  list: <path d="M-6-5H6M-6 0H6M-6 5H2" />,
  keys: (
    <>
      <circle cx="-4" cy="3" r="4" />
      <path d="M-1 0 7-8M3-4l3 3" />
    </>
  ),
  log: <path d="M-7 0h3l3-7 3 13 2-6h4" />,
  search: (
    <>
      <circle cx="-1" cy="-1" r="5.5" />
      <path d="m3 3 4.5 4.5" />
    </>
  ),
  money: <path d="M4.5-4.5C4-7-4.5-7.5-4.5-3.5S5-.5 5 3.5-4 7.5-5 4.5M0-9.5v19" />,
  chat: <path d="M-7-6H7V4H0l-4 4V4h-3Z" />,
  models: <path d="M0-8 7-4v8L0 8l-7-4v-8Zm0 8 7-4M0 0l-7-4M0 0v8" />,
  people: (
    <>
      <circle cx="0" cy="-3" r="3.5" />
      <path d="M-7 7c0-7 14-7 14 0" />
    </>
  ),
};

export function EmptyArt({ kind }: { readonly kind: EmptyKind }) {
  return (
    <svg className={styles.art} viewBox="0 0 120 80" width="7.5rem" height="5rem" aria-hidden="true">
      <rect x="26" y="6" width="68" height="44" rx="6" className={styles.behind} />
      <rect x="14" y="16" width="92" height="50" rx="7" className={styles.card} />
      <path d="M26 30h26M26 41h42M26 52h18" className={styles.lines} />
      <circle cx="86" cy="52" r="19" className={styles.disc} />
      <g transform="translate(86 52)" className={styles.sign}>
        {SIGNS[kind]}
      </g>
    </svg>
  );
}
