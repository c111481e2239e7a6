import { messagesRequest, responsesRequest } from "./format-snippets.ts";

/** A message in the format of chat completions. */
export interface SnippetMessage {
  readonly role: string;
  /** A text, or parts. */
  readonly content?: unknown;
  readonly [member: string]: unknown;
}

/** A chat request, as code that sends it. */
export interface ChatSnippetRequest {
  readonly model: string;
  readonly messages: readonly SnippetMessage[];
  readonly stream?: boolean;
  readonly [parameter: string]: unknown;
}

/** A request for embeddings. */
interface EmbeddingSnippetRequest {
  readonly model: string;
  readonly input: string | readonly string[];
  readonly [parameter: string]: unknown;
}

export type SnippetRequest = ChatSnippetRequest | EmbeddingSnippetRequest;

export interface SnippetService {
  readonly serviceName: string;
  /** Scheme, host and port. */
  readonly publicUrl: string;
}

export type SnippetKind = "curl" | "sdk" | "openai" | "responses" | "messages";

interface SnippetChoice {
  readonly value: SnippetKind;
  readonly label: string;
}

const ANY_REQUEST: readonly SnippetChoice[] = [
  { value: "curl", label: "curl" },
  { value: "sdk", label: "Ostiary SDK" },
  { value: "openai", label: "openai" },
];
const CHAT_REQUEST: readonly SnippetChoice[] = [
  ...ANY_REQUEST,
  { value: "responses", label: "Responses" },
  { value: "messages", label: "Messages" },
];

/** The clients and formats in which a request can be sent. Embeddings have one format. */
export function snippetKinds(request: SnippetRequest): readonly SnippetChoice[] {
  return isEmbedding(request) ? ANY_REQUEST : CHAT_REQUEST;
}

/** The environment variable that clients read the key from: `<SERVICE>_API_KEY`. */
export function keyVariable(serviceName: string): string {
  const name = serviceName
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return `${name === "" ? "OSTIARY" : name}_API_KEY`;
}

/** What `npm install` installs the SDK from: the service serves the package itself. */
export function sdkPackage({ publicUrl }: SnippetService): string {
  return `${publicUrl}/sdk/ostiary.tgz`;
}

/** Code that sends the request. It reads the key from the environment, so that the copied code contains no secret. */
export function snippetFor(kind: SnippetKind, service: SnippetService, request: SnippetRequest): string {
  switch (kind) {
    case "curl":
      return curlFor(service, request);
    case "sdk":
      return [...sdkClient(service), "", ...callFor(request)].join("\n");
    case "openai":
      return [...openaiClient(service), "", ...callFor(request)].join("\n");
    case "responses":
      return isEmbedding(request) ? "" : [...openaiClient(service), "", ...responsesCall(request)].join("\n");
    case "messages":
      return isEmbedding(request)
        ? ""
        : [...anthropicClient(service), "", ...messagesCall(request)].join("\n");
  }
}

const PACKAGES: Readonly<Record<Exclude<SnippetKind, "curl" | "sdk">, string>> = {
  openai: "openai",
  responses: "openai",
  messages: "@anthropic-ai/sdk",
};

/** What to do with the code. */
interface SnippetUse {
  /** The command that installs the client's package; `null`: none is needed. */
  readonly install: string | null;
  /** The steps before the code runs, and what of the request it lacks. */
  readonly note: string;
}

export function snippetUse(kind: SnippetKind, service: SnippetService, request: SnippetRequest): SnippetUse {
  const key = `Set ${keyVariable(service.serviceName)} to your API key.`;
  if (kind === "curl") return { install: null, note: key };
  const install = `npm install ${kind === "sdk" ? sdkPackage(service) : PACKAGES[kind]}`;
  const steps = `${key} Save as app.mjs and run node app.mjs.`;
  const missing = missingIn(kind, request);
  const note = missing.length === 0 ? steps : `${steps} This format has no ${missing.join(", ")}.`;
  return { install, note };
}

function missingIn(kind: SnippetKind, request: SnippetRequest): readonly string[] {
  if (isEmbedding(request)) return [];
  if (kind === "responses") return responsesRequest(request).missing;
  return kind === "messages" ? messagesRequest(request).missing : [];
}

function curlFor({ serviceName, publicUrl }: SnippetService, request: SnippetRequest): string {
  const path = isEmbedding(request) ? "/v1/embeddings" : "/v1/chat/completions";
  // Lines after the first are indented below the option that they belong to.
  const body = JSON.stringify(request, null, 2).replaceAll("\n", "\n  ").replaceAll("'", "'\\''");
  return [
    `curl ${request.stream === true ? "-N " : ""}${publicUrl}${path} \\`,
    `  -H "Authorization: Bearer $${keyVariable(serviceName)}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join("\n");
}

function sdkClient({ serviceName, publicUrl }: SnippetService): readonly string[] {
  const variable = keyVariable(serviceName);
  const service =
    variable === "OSTIARY_API_KEY"
      ? []
      : [`  service: ${JSON.stringify(variable.replace(/_API_KEY$/, ""))},`];
  return [
    `import Ostiary from "ostiary";`,
    "",
    `// Reads ${variable}.`,
    "const client = new Ostiary({",
    ...service,
    `  baseURL: ${JSON.stringify(`${publicUrl}/v1`)},`,
    "});",
  ];
}

function openaiClient({ serviceName, publicUrl }: SnippetService): readonly string[] {
  return [
    `import OpenAI from "openai";`,
    "",
    "const client = new OpenAI({",
    `  apiKey: process.env.${keyVariable(serviceName)},`,
    `  baseURL: ${JSON.stringify(`${publicUrl}/v1`)},`,
    "});",
  ];
}

function anthropicClient({ serviceName, publicUrl }: SnippetService): readonly string[] {
  return [
    `import Anthropic from "@anthropic-ai/sdk";`,
    "",
    "const client = new Anthropic({",
    `  apiKey: process.env.${keyVariable(serviceName)},`,
    `  baseURL: ${JSON.stringify(publicUrl)},`,
    "});",
  ];
}

function responsesCall(request: ChatSnippetRequest): readonly string[] {
  const call = `await client.responses.create(${JSON.stringify(responsesRequest(request).body, null, 2)});`;
  if (request.stream !== true) return [`const response = ${call}`, "console.log(response.output_text);"];
  return [
    `const stream = ${call}`,
    "for await (const event of stream) {",
    `  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);`,
    "}",
  ];
}

function messagesCall(request: ChatSnippetRequest): readonly string[] {
  const { stream: isStreamed, ...body } = messagesRequest(request).body;
  const parameters = JSON.stringify(body, null, 2);
  if (isStreamed !== true) {
    return [
      `const message = await client.messages.create(${parameters});`,
      `console.log(message.content.map((block) => (block.type === "text" ? block.text : "")).join(""));`,
    ];
  }
  return [
    `const stream = client.messages.stream(${parameters});`,
    `stream.on("text", (text) => process.stdout.write(text));`,
    "await stream.finalMessage();",
  ];
}

function callFor(request: SnippetRequest): readonly string[] {
  const parameters = JSON.stringify(request, null, 2);
  if (isEmbedding(request)) {
    return [
      `const { data } = await client.embeddings.create(${parameters});`,
      "console.log(data[0]?.embedding.length);",
    ];
  }
  const call = `await client.chat.completions.create(${parameters});`;
  if (request.stream !== true) {
    return [`const completion = ${call}`, "console.log(completion.choices[0]?.message.content);"];
  }
  return [
    `const stream = ${call}`,
    "for await (const chunk of stream) {",
    `  process.stdout.write(chunk.choices[0]?.delta.content ?? "");`,
    "}",
  ];
}

function isEmbedding(request: SnippetRequest): request is EmbeddingSnippetRequest {
  return "input" in request;
}
