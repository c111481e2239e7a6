import { messagesTools, messagesTurns, responsesItems, responsesTools } from "./format-messages.ts";
import type { ChatSnippetRequest } from "./snippets.ts";

/** A chat request in another format. */
interface FormattedRequest {
  readonly body: Readonly<Record<string, unknown>>;
  /** Parameters of the chat request that the format does not have. */
  readonly missing: readonly string[];
}

const DEFAULT_MAX_TOKENS = 1_024;
/** What both formats have under the same name. */
const SHARED = ["temperature", "top_p", "stream"];

/** The request as the Responses API has it. */
export function responsesRequest(request: ChatSnippetRequest): FormattedRequest {
  const instructions = instructionsOf(request);
  const { max_completion_tokens: newer, max_tokens: older } = request;
  const maxTokens = newer ?? older;
  return {
    body: {
      model: request.model,
      ...(instructions === "" ? {} : { instructions }),
      input: responsesItems(request.messages),
      ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
      ...responsesTools(request),
      ...shared(request),
    },
    missing: missingIn(request, ["response_format", "tools", "tool_choice"]),
  };
}

/** The request as the Messages API has it. */
export function messagesRequest(request: ChatSnippetRequest): FormattedRequest {
  const system = instructionsOf(request);
  const { max_completion_tokens: newer, max_tokens: older, stop } = request;
  return {
    body: {
      model: request.model,
      max_tokens: newer ?? older ?? DEFAULT_MAX_TOKENS,
      ...(system === "" ? {} : { system }),
      messages: messagesTurns(request.messages),
      ...messagesTools(request),
      ...(stop === undefined ? {} : { stop_sequences: stop }),
      ...shared(request),
    },
    missing: missingIn(request, ["stop", "tools", "tool_choice"]),
  };
}

function instructionsOf({ messages }: ChatSnippetRequest): string {
  return messages
    .filter(({ role }) => role === "system")
    .map(({ content }) => content)
    .join("\n\n");
}

function shared(request: ChatSnippetRequest): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    SHARED.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]] as const])),
  );
}

/** @param own The parameters that only this format has beside those of every format. */
function missingIn(request: ChatSnippetRequest, own: readonly string[]): readonly string[] {
  const known = [
    "model",
    "messages",
    "max_completion_tokens",
    "max_tokens",
    "stream_options",
    ...SHARED,
    ...own,
  ];
  return Object.keys(request).filter((name) => !known.includes(name));
}
