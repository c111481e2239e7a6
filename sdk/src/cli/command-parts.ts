import type { Ostiary } from "../client.ts";

/** What all commands use. */
export interface CommandParts {
  /** Creates the client, with the address of the service that the command line names. */
  readonly client: () => Ostiary;
  /** Prints the value in JSON if that was asked for, and otherwise the lines. */
  readonly print: (value: unknown, lines: readonly string[]) => void;
  readonly isJson: () => boolean;
  /** Ends the running command when it is aborted. */
  readonly signal: AbortSignal;
}

/** The maximum of options that are numbers without a limit of their own. */
export const MAX_COUNT = 999_999_999;
