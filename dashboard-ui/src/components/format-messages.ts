import type { SnippetMessage } from "./snippets.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The messages of a chat request as input items of the Responses API, without instructions. */
export function responsesItems(messages: readonly SnippetMessage[]): readonly Fields[] {
  return messages.flatMap((message) => {
    const { role, content } = message;
    if (role === "system") return [];
    if (role === "tool") {
      return [{ type: "function_call_output", call_id: message.tool_call_id, output: content }];
    }
    const said = content === null ? [] : [{ role, content: partsOf(content, responsesPart) }];
    const calls = listOf(message.tool_calls).map((call) => ({
      type: "function_call",
      call_id: call.id,
      ...fieldsOf(call.function),
    }));
    return [...said, ...calls];
  });
}

/** The messages of a chat request as those of the Messages API, without the system prompt. */
export function messagesTurns(messages: readonly SnippetMessage[]): readonly Fields[] {
  const turns: { role: string; content: unknown }[] = [];
  for (const message of messages) {
    const { role, content } = message;
    if (role === "system") continue;
    if (role === "tool") {
      const result = { type: "tool_result", tool_use_id: message.tool_call_id, content };
      const last = turns.at(-1);
      // The results of one answer's calls are one message.
      if (last?.role === "user" && Array.isArray(last.content)) last.content.push(result);
      else turns.push({ role: "user", content: [result] });
      continue;
    }
    const calls = listOf(message.tool_calls);
    if (calls.length === 0) {
      turns.push({ role, content: partsOf(content, messagesPart) });
      continue;
    }
    const said = typeof content === "string" ? [{ type: "text", text: content }] : [];
    turns.push({ role, content: [...said, ...calls.map(toolUse)] });
  }
  return turns;
}

/** Tools, the choice of one and the schema of the answer, as the Responses API has them. */
export function responsesTools({ tools, tool_choice: choice, response_format: format }: Fields): Fields {
  const name = fieldsOf(fieldsOf(choice).function).name;
  const { json_schema: schema, ...kind } = fieldsOf(format);
  return {
    ...(tools === undefined
      ? {}
      : { tools: listOf(tools).map((tool) => ({ type: "function", ...fieldsOf(tool.function) })) }),
    ...(choice === undefined
      ? {}
      : { tool_choice: name === undefined ? choice : { type: "function", name } }),
    ...(format === undefined ? {} : { text: { format: { ...kind, ...fieldsOf(schema) } } }),
  };
}

/** Tools and the choice of one, as the Messages API has them. */
export function messagesTools({ tools, tool_choice: choice }: Fields): Fields {
  const name = fieldsOf(fieldsOf(choice).function).name;
  const modes: Fields = { required: { type: "any" }, none: { type: "none" }, auto: { type: "auto" } };
  return {
    ...(tools === undefined
      ? {}
      : {
          tools: listOf(tools).map((tool) => {
            const { parameters, ...rest } = fieldsOf(tool.function);
            return { ...rest, input_schema: parameters };
          }),
        }),
    ...(choice === undefined
      ? {}
      : { tool_choice: name === undefined ? modes[String(choice)] : { type: "tool", name } }),
  };
}

function toolUse(call: Fields): Fields {
  const { name, arguments: input } = fieldsOf(call.function);
  return { type: "tool_use", id: call.id, name, input: argumentsOf(input) };
}

/** The arguments of a call, which the model may have written wrongly. */
function argumentsOf(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return {};
  }
}

function partsOf(content: unknown, partFrom: (part: Fields) => Fields): unknown {
  return Array.isArray(content) ? listOf(content).map(partFrom) : content;
}

function responsesPart(part: Fields): Fields {
  if (part.type === "image_url") return { type: "input_image", image_url: fieldsOf(part.image_url).url };
  if (part.type === "file") return { type: "input_file", ...fieldsOf(part.file) };
  return { type: "input_text", text: part.text };
}

function messagesPart(part: Fields): Fields {
  if (part.type === "image_url") return { type: "image", source: sourceOf(fieldsOf(part.image_url).url) };
  if (part.type === "file") return { type: "document", source: sourceOf(fieldsOf(part.file).file_data) };
  return part;
}

/** A `data:` URL as a source of the Messages API. */
function sourceOf(url: unknown): Fields {
  const [head = "", data = ""] = String(url).split(",", 2);
  return { type: "base64", media_type: head.replace(/^data:/, "").replace(/;base64$/, ""), data };
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}
