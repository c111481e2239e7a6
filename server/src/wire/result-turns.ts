import type { AssistantPart, ToolResultPart, Turn } from "../conversation/conversation.ts";

/** Puts the results of a turn's calls into one turn right after it, because most providers refuse anything in between. */
export class ResultTurns {
  readonly #results = new Map<Turn["parts"], ToolResultPart[]>();

  /** `said`: the parts of the turn that has made the call. */
  add(said: readonly AssistantPart[], result: ToolResultPart): void {
    const results = this.#results.get(said);
    if (results === undefined) this.#results.set(said, [result]);
    else results.push(result);
  }

  /** The turns with those of the results. */
  among(turns: readonly Turn[]): readonly Turn[] {
    if (this.#results.size === 0) return turns;
    return turns.flatMap((turn): readonly Turn[] => {
      const parts = this.#results.get(turn.parts);
      return parts === undefined ? [turn] : [turn, { role: "tool", parts }];
    });
  }
}
