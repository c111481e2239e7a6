import { hashedName, MAX_TOOL_NAME_LENGTH } from "../tool-name.ts";

/**
 * The names of a request's tools. Anthropic takes names of 128 characters, as those that Claude Code gives to the tools of MCP servers, and
 * other providers of {@link MAX_TOOL_NAME_LENGTH}.
 */
export class ToolNames {
  readonly #own = new Map<string, string>();

  /** The name that every provider accepts. */
  shortened(own: string): string {
    if (own.length <= MAX_TOOL_NAME_LENGTH) return own;
    const short = hashedName(own, own);
    this.#own.set(short, own);
    return short;
  }

  /** The client's name of a tool that was called by its short one. */
  ownOf(called: string): string {
    return this.#own.get(called) ?? called;
  }
}
