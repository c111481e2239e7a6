/**
 * The line with which Claude Code begins its instructions, for Anthropic's bills. It differs in each request: a provider that caches prompts by their
 * beginning would find none of them.
 */
const ATTRIBUTION = /^x-anthropic-billing-header:[^\n]*(?:\n|$)/;

/** Instructions without the line that only Anthropic reads. The same text if they have none. */
export function withoutAttribution(text: string): string {
  return text.replace(ATTRIBUTION, "");
}
