/** A chat request, as code that sends it. */
export interface ChatSnippetRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly stream?: boolean;
  readonly [parameter: string]: unknown;
}

/** A request for embeddings. */
export interface EmbeddingSnippetRequest {
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

export type SnippetKind = "curl" | "sdk" | "openai";

export const SNIPPET_KINDS: readonly { readonly value: SnippetKind; readonly label: string }[] = [
  { value: "curl", label: "curl" },
  { value: "sdk", label: "SDK" },
  { value: "openai", label: "openai" },
];

/** The environment variable that clients read the key from: `<SERVICE>_API_KEY`. */
export function keyVariable(serviceName: string): string {
  const name = serviceName
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return `${name === "" ? "OSTIARY" : name}_API_KEY`;
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
  }
}

/** The steps before the code runs. */
export function snippetNeeds(kind: SnippetKind, { serviceName }: SnippetService): string {
  const key = `Set ${keyVariable(serviceName)} to your API key.`;
  if (kind === "curl") return key;
  return `${key} Run npm i ${kind === "sdk" ? "ostiary" : "openai"}, save as app.mjs, run node app.mjs.`;
}

function curlFor({ serviceName, publicUrl }: SnippetService, request: SnippetRequest): string {
  const path = isEmbedding(request) ? "/v1/embeddings" : "/v1/chat/completions";
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
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

function isEmbedding(request: SnippetRequest): boolean {
  return "input" in request;
}
