import type { ReactNode } from "react";
import textStyles from "./text.module.css";

interface PairProps {
  readonly first: ReactNode;
  /** The smaller second line, if any. */
  readonly children?: ReactNode;
}

/** A value with a second line of details. */
export function Pair({ first, children }: PairProps) {
  return (
    <span className={textStyles.pair}>
      <span>{first}</span>
      {children == null ? null : <span className={textStyles.small}>{children}</span>}
    </span>
  );
}
