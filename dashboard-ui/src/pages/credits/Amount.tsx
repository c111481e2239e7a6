import { formatUsd } from "../../components/format.ts";
import styles from "./Amount.module.css";

const FRACTION = /[.,]?\d*$/;

/** The maximum number of fraction digits of some amounts. */
export function longestFraction(amounts: readonly bigint[]): number {
  return Math.max(0, ...amounts.map((amount) => fractionOf(formatUsd(amount))));
}

interface AmountProps {
  readonly nanoUsd: bigint;
  /** The number of fraction digits of the column. */
  readonly fraction: number;
}

/** An amount, aligned at the decimal point. */
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
