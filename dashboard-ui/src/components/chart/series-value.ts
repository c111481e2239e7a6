/** What a series has in one interval. */
export interface SeriesValue {
  readonly label: string;
  readonly colour: string;
  readonly value: number;
}
