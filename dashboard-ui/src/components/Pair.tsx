import type { ReactNode } from "react";
import textStyles from "./text.module.css";

interface PairProps {
  readonly first: ReactNode;
  /** Below it, smaller; absent where there is nothing to add. */
  readonly children?: ReactNode;
}

/** A value with more about it on a second line. */
export function Pair({ first, children }: PairProps) {
  return (
    <span className={textStyles.pair}>
      <span>{first}</span>
      {children == null ? null : <span className={textStyles.small}>{children}</span>}
    </span>
  );
}
