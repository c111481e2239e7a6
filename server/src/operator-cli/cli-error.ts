/** A command that can't be run as it was given. The message says what to do. */
export class CliError extends Error {
  override readonly name = "CliError";
}
