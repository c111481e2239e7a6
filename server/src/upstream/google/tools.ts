import type { Conversation, Tool, ToolChoice } from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";

/** The fields of a request that have to do with tools. */
export function toolFields({ tools, toolChoice }: Conversation): JsonObject {
  if (tools.length === 0) return {};
  const calling = callingOf(toolChoice, tools);
  return {
    tools: [{ functionDeclarations: tools.map(declarationOf) }],
    toolConfig: calling === null ? undefined : { functionCallingConfig: calling },
  };
}

/** The conversation with a tool whose input is the answer, for schemas that a model does not take together with tools. */
export function withAnswerTool(conversation: Conversation, name: string, schema: JsonObject): Conversation {
  const { tools, toolChoice, format } = conversation;
  const description = format?.kind === "schema" ? format.description : null;
  const answerTool: Tool = {
    name,
    description: description ?? "Respond with a JSON object.",
    parameters: schema,
    strict: null,
    cache: null,
  };
  return { ...conversation, tools: [...tools, answerTool], toolChoice: choiceBeside(toolChoice, name) };
}

function choiceBeside(choice: ToolChoice | null, answerTool: string): ToolChoice {
  if (choice?.kind === "tool") return choice;
  return choice?.kind === "none" ? { kind: "tool", name: answerTool } : { kind: "required" };
}

function declarationOf({ name, description, parameters }: Tool): JsonObject {
  return {
    name,
    description: description ?? "",
    parametersJsonSchema: parameters ?? { type: "object", properties: {} },
  };
}

function callingOf(choice: ToolChoice | null, tools: readonly Tool[]): JsonObject | null {
  const isStrict = tools.some(({ strict }) => strict === true);
  switch (choice?.kind) {
    case undefined:
      return isStrict ? { mode: "VALIDATED" } : null;
    case "auto":
      return { mode: isStrict ? "VALIDATED" : "AUTO" };
    case "none":
      return { mode: "NONE" };
    case "required":
      return { mode: "ANY" };
    case "tool":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
  }
}
