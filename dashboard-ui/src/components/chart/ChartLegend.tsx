import styles from "./ChartLegend.module.css";
import { seriesColour } from "./colours.ts";

interface ChartLegendProps {
  readonly series: readonly { readonly label: string; readonly isOther?: boolean }[];
}

/** The names of the series with their colours. */
export function ChartLegend({ series }: ChartLegendProps) {
  const entries = series.map(({ label, isOther }, index) => ({
    label,
    colour: seriesColour(index, isOther),
  }));
  return (
    <ul className={styles.chartLegend}>
      {entries.map(({ label, colour }) => (
        <li key={`${colour} ${label}`}>
          <Swatch colour={colour} />
          <span>{label}</span>
        </li>
      ))}
    </ul>
  );
}

/** The colour of a series, beside its name. */
export function Swatch({ colour }: { readonly colour: string }) {
  return <span className={styles.chartSwatch} aria-hidden="true" style={{ background: colour }} />;
}
