import { useLayoutEffect, useRef, useState } from "react";
import textStyles from "../text.module.css";
import { Swatch } from "./ChartLegend.tsx";
import styles from "./ChartTooltip.module.css";
import type { SeriesValue } from "./series-value.ts";

interface ChartTooltipProps {
  readonly title: string;
  readonly values: readonly SeriesValue[];
  /** Whether each value has its name beside it. */
  readonly isNamed: boolean;
  /** Whether the tooltip shows the sum of the values. */
  readonly isSum: boolean;
  /** Whether another tap leads to the requests of the interval. */
  readonly isPicked: boolean;
  readonly format: (value: number) => string;
  /** The room on either side of the interval. */
  readonly besidePx: { readonly left: number; readonly right: number };
}

const GAP_PX = 8;

/** The values of one interval, beside it or above. Hidden from screen readers, because the cursor announces them. */
export function ChartTooltip(props: ChartTooltipProps) {
  const { title, values, isNamed, isSum, isPicked, format, besidePx } = props;
  const place = useRef<HTMLDivElement>(null);
  const [widthPx, setWidthPx] = useState(0);
  // The width changes with the text.
  useLayoutEffect(() => setWidthPx(place.current?.offsetWidth ?? 0));

  const { left, right } = besidePx;
  const room = Math.max(left, right) - GAP_PX - widthPx;
  // Without room beside the interval, the tooltip is above the plot, where no finger covers it.
  const style = room < 0 ? { left: 0, bottom: "100%" } : { [right >= left ? "right" : "left"]: room, top: 0 };
  return (
    <div ref={place} className={styles.chartTooltip} aria-hidden="true" style={style}>
      <p>{title}</p>
      {isPicked ? <p className={styles.chartTooltipTap}>Tap again to see the requests.</p> : null}
      {isNamed ? (
        <dl>
          {values.map(({ label, colour, value }) => (
            <div key={`${colour} ${label}`}>
              <dt>
                <Swatch colour={colour} />
                <span className={textStyles.cut}>{label}</span>
              </dt>
              <dd>{format(value)}</dd>
            </div>
          ))}
          {isSum ? (
            <div className={styles.chartTooltipSum}>
              <dt>Total</dt>
              <dd>{format(values.reduce((sum, { value }) => sum + value, 0))}</dd>
            </div>
          ) : null}
        </dl>
      ) : (
        <p className={styles.chartTooltipOnly}>{values.map(({ value }) => format(value))}</p>
      )}
    </div>
  );
}
