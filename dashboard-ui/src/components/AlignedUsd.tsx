import styles from "./AlignedUsd.module.css";
import { formatUsd, fractionDigits } from "./format.ts";

interface AlignedUsdProps {
  readonly nanoUsd: bigint;
  /** The number of fraction digits of the column, from {@link longestFraction}. */
  readonly fraction: number;
}

/** An amount whose decimal point is below those of the column's other amounts. The column is aligned to the right. */
export function AlignedUsd({ nanoUsd, fraction }: AlignedUsdProps) {
  const text = formatUsd(nanoUsd);
  return (
    <span className={styles.usd}>
      {text}
      <span className={styles.room} aria-hidden="true">
        {"0".repeat(Math.max(0, fraction - fractionDigits(text)))}
      </span>
    </span>
  );
}
