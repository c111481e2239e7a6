/** The clients of the first steps. */
const FIRST_SETUP_IDS = [
  "curl",
  "openai-python",
  "openai-node",
  "ostiary",
  "ai-sdk",
  "langchain-python",
] as const;

/** The clients that the dashboard shows how to set up. */
export const SETUP_IDS = [...FIRST_SETUP_IDS, "langchain", "anthropic", "codex", "claude-code"] as const;

export type SetupId = (typeof SETUP_IDS)[number];

/** Whether a client is among the few of the first steps. */
export function isFirstSetup(id: SetupId): boolean {
  return FIRST_SETUP_IDS.some((first) => first === id);
}
