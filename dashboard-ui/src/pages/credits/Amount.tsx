import { AlignedUsd } from "../../components/AlignedUsd.tsx";
import styles from "./Amount.module.css";

interface AmountProps {
  readonly nanoUsd: bigint;
  /** The number of fraction digits of the column. */
  readonly fraction: number;
}

/** An amount with its sign, aligned at the decimal point. */
export function Amount({ nanoUsd, fraction }: AmountProps) {
  return (
    <span className={styles.creditAmount}>
      {nanoUsd > 0n ? "+" : null}
      <AlignedUsd nanoUsd={nanoUsd} fraction={fraction} />
    </span>
  );
}
