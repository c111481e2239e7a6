import type { ReactNode } from "react";

interface PairProps {
  readonly first: ReactNode;
  /** Below it, smaller; absent where there is nothing to add. */
  readonly children?: ReactNode;
}

/** A value with more about it on a second line. */
export function Pair({ first, children }: PairProps) {
  return (
    <span className="pair">
      <span>{first}</span>
      {children == null ? null : <span className="small">{children}</span>}
    </span>
  );
}
