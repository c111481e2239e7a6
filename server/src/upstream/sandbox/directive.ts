/**
 * The behaviour that a developer can request in the last user message, to test error handling:
 *
 * - `sandbox:error 429`: answers with that status
 * - `sandbox:delay 200`: waits that many milliseconds before the first byte, at most 30,000
 * - `sandbox:cut`: breaks the answer off
 * - `sandbox:no-usage`: leaves the usage out
 */
type Directive =
  | { readonly kind: "error"; readonly status: number }
  | { readonly kind: "delay"; readonly delayMs: number }
  | { readonly kind: "cut" }
  | { readonly kind: "no-usage" };

const MAX_DELAY_MS = 30_000;

export function directiveOf(text: string): Directive | null {
  const match = /^sandbox:(error|delay|cut|no-usage)(?: (\d{1,6}))?$/.exec(text.trim());
  if (match === null) return null;
  const number = Number(match[2] ?? 0);
  switch (match[1]) {
    case "error":
      return number >= 400 && number <= 599 ? { kind: "error", status: number } : null;
    case "delay":
      return { kind: "delay", delayMs: Math.min(number, MAX_DELAY_MS) };
    case "cut":
      return { kind: "cut" };
    default:
      return { kind: "no-usage" };
  }
}
