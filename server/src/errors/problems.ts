/** What an error tells a person: a line for each of its problems, without a stack trace. */
export function problemsOf(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [String(error)];
  if ("problems" in error && Array.isArray(error.problems)) return error.problems.map(String);
  return [error.message.trim().split("\n", 1)[0] ?? "unknown error"];
}
