/** What a command has found. */
export interface Findings {
  /** A line for each thing that was done or checked. */
  readonly lines: readonly string[];
  /** A line for each thing that is wrong. Empty: nothing is wrong. */
  readonly problems: readonly string[];
}
