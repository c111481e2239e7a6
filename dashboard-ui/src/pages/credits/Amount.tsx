import { formatUsd } from "../../components/format.ts";
import styles from "./Amount.module.css";

const FRACTION = /[.,]?\d*$/;

/** The digits after the point of the longest of some sums. */
export function longestFraction(amounts: readonly bigint[]): number {
  return Math.max(0, ...amounts.map((amount) => fractionOf(formatUsd(amount))));
}

interface AmountProps {
  readonly nanoUsd: bigint;
  /** How many digits the column has after the point. */
  readonly fraction: number;
}

/** A sum that came in or went out, its point below those above it. */
export function Amount({ nanoUsd, fraction }: AmountProps) {
  const text = formatUsd(nanoUsd);
  return (
    <span className={styles.creditAmount}>
      {nanoUsd > 0n ? "+" : null}
      {text}
      <span className={styles.creditAmountRoom} aria-hidden="true">
        {"0".repeat(fraction - fractionOf(text))}
      </span>
    </span>
  );
}

function fractionOf(text: string): number {
  return (FRACTION.exec(text)?.[0].length ?? 1) - 1;
}
