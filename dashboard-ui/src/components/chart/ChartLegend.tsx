import styles from "./ChartLegend.module.css";
import { type SeriesPlace, seriesColour } from "./colours.ts";

interface ChartLegendProps {
  readonly series: readonly {
    readonly label: string;
    readonly isOther?: boolean;
    readonly colour?: SeriesPlace | undefined;
  }[];
  /** The labels of series that are switched off. */
  readonly hidden: ReadonlySet<string>;
  readonly onToggle: (label: string) => void;
}

/** The names of the series with their colours. Each switches its series off and on. */
export function ChartLegend({ series, hidden, onToggle }: ChartLegendProps) {
  return (
    <ul className={styles.chartLegend} aria-label="Series">
      {series.map(({ label, isOther, colour }, index) => (
        <li key={label}>
          <button
            type="button"
            className={styles.chartLegendEntry}
            aria-pressed={!hidden.has(label)}
            onClick={() => onToggle(label)}
          >
            <Swatch colour={seriesColour(colour ?? index, isOther)} />
            <span>{label}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The colour of a series, beside its name. */
export function Swatch({ colour }: { readonly colour: string }) {
  return <span className={styles.chartSwatch} aria-hidden="true" style={{ background: colour }} />;
}
