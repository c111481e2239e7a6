/** The clients that the dashboard shows how to set up. */
export const SETUP_IDS = [
  "curl",
  "openai-python",
  "openai-node",
  "ostiary",
  "ai-sdk",
  "langchain-python",
  "langchain",
  "anthropic",
  "codex",
  "claude-code",
] as const;

export type SetupId = (typeof SETUP_IDS)[number];
