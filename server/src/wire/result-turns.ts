import type { AssistantPart, ToolResultPart, Turn } from "../conversation/conversation.ts";

/** Puts the results of a turn's calls in one turn that follows it: most providers refuse anything in between. */
export class ResultTurns {
  readonly #turns: Turn[];
  readonly #results = new Map<readonly AssistantPart[], ToolResultPart[]>();

  /** `turns`: those of the conversation so far. The results are added to them. */
  constructor(turns: Turn[]) {
    this.#turns = turns;
  }

  /** `said`: the parts of the turn that has made the call. */
  add(said: readonly AssistantPart[], result: ToolResultPart): void {
    const results = this.#results.get(said);
    if (results !== undefined) {
      results.push(result);
      return;
    }
    const first = [result];
    this.#results.set(said, first);
    const turn = this.#turns.findLastIndex(({ parts }) => parts === said);
    this.#turns.splice(turn + 1, 0, { role: "tool", parts: first });
  }
}
