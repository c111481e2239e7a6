/** The value of a series in one interval. */
export interface SeriesValue {
  readonly label: string;
  readonly colour: string;
  readonly value: number;
}
