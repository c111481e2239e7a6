/** What a stub upstream has been asked, in whichever format. */
export interface Asked {
  /** What the user has said, in order. */
  readonly said: readonly string[];
  /** What the instructions are, joined. */
  readonly instructions: string;
  readonly tools: readonly OfferedTool[];
  /** The results of the tools, if they are the last that was sent; empty otherwise. */
  readonly results: readonly string[];
}

export interface OfferedTool {
  readonly name: string;
  readonly namespace?: string;
  /** Whether its input is free text, and not JSON. */
  readonly isCustom?: boolean;
}

export type Piece =
  | { readonly text: string }
  | { readonly thought: string }
  | { readonly tool: OfferedTool; readonly input: string };

export interface Script {
  readonly pieces: readonly Piece[];
  readonly finish: "stop" | "length";
  /** The status to answer with instead. */
  readonly status?: number;
  /** Whether the connection is closed in the middle of the answer. */
  readonly isCut?: boolean;
}

/** The tokens that every answer reports, so that tests know what clients have to be told. */
export const USAGE = { prompt: 120, cached: 20, completion: 30, reasoning: 10 };

/**
 * What a stub answers. The last text of the user decides:
 *
 * - `weather in Rome`, `weather in Rome and Oslo`: calls the tool `weather`, once for each city
 * - `run: <command>`: calls the tool that runs commands
 * - `ping`: calls the tool whose name ends in `ping`
 * - `patch: <text>`: calls the tool `apply_patch`
 * - `think`: thinks, and then answers
 * - `as json`: answers `{"city":"Rome"}`
 * - `at length`: stops at the maximum of tokens
 * - `break off`: closes the connection in the middle of the answer
 * - `be busy`: status 429; `be wrong`: status 400
 * - `recall`: repeats what the user has said
 * - anything else: `Hello there.`
 */
export function scriptFor({ said, instructions, tools, results }: Asked): Script {
  if (results.length > 0) return texts(`The tools said: ${results.join(", ")}.`);
  const last = said.at(-1) ?? "";
  const cities = /weather in (\w+)(?: and (\w+))?/
    .exec(last)
    ?.slice(1)
    .filter((city) => city !== undefined);
  if (cities !== undefined)
    return calls(
      tools,
      /^weather$/,
      cities.map((city) => JSON.stringify({ city })),
    );
  const command = /^run: (.*)/m.exec(last)?.[1];
  if (command !== undefined) {
    const isCodex = tools.some(({ name }) => name === "exec_command");
    const input = JSON.stringify(isCodex ? { cmd: command } : { command });
    return calls(tools, /^(?:exec_command|Bash)$/, [input]);
  }
  const patch = /^patch: ([\s\S]*)/.exec(last)?.[1];
  if (patch !== undefined) return calls(tools, /^apply_patch$/, [patch]);
  if (/^ping/.test(last)) return calls(tools, /ping$/, ["{}"]);
  if (last.includes("think"))
    return { pieces: [{ thought: "Let me see." }, ...inPieces("42.")], finish: "stop" };
  if (last.includes("as json")) return texts('{"city":"Rome"}');
  if (last.includes("at length")) return { pieces: inPieces("This goes on and"), finish: "length" };
  if (last.includes("break off")) return { pieces: inPieces("So far so"), finish: "stop", isCut: true };
  if (last.includes("be busy")) return { pieces: [], finish: "stop", status: 429 };
  if (last.includes("be wrong")) return { pieces: [], finish: "stop", status: 400 };
  if (last.includes("recall"))
    return texts(`${said.join(" | ")}${instructions === "" ? "" : ` (${instructions})`}`);
  return texts("Hello there.");
}

function texts(text: string): Script {
  return { pieces: inPieces(text), finish: "stop" };
}

function inPieces(text: string): Piece[] {
  return (text.match(/.{1,7}/gs) ?? []).map((piece) => ({ text: piece }));
}

function calls(tools: readonly OfferedTool[], name: RegExp, inputs: readonly string[]): Script {
  const tool = tools.find((offered) => name.test(offered.name));
  if (tool === undefined)
    return texts(`I have no such tool: ${tools.map((offered) => offered.name).join(", ")}`);
  return {
    pieces: inputs.map((input) => {
      // A tool of free text that was offered as a function has its text in a member.
      const isWrapped = tool.isCustom !== true && tool.name === "apply_patch";
      return { tool, input: isWrapped ? JSON.stringify({ input }) : input };
    }),
    finish: "stop",
  };
}
