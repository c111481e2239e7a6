/** A chat request, as code that sends it. */
export interface SnippetRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly stream?: boolean;
  readonly [parameter: string]: unknown;
}

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

/** Code that sends the request; the key comes from the environment, so that what is copied holds no secret. */
export function snippetFor(kind: SnippetKind, service: SnippetService, request: SnippetRequest): string {
  const variable = keyVariable(service.serviceName);
  if (kind === "curl") {
    const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
    return [
      `curl ${request.stream === true ? "-N " : ""}${service.publicUrl}/v1/chat/completions \\`,
      `  -H "Authorization: Bearer $${variable}" \\`,
      `  -H "Content-Type: application/json" \\`,
      `  -d '${body}'`,
    ].join("\n");
  }
  const { publicUrl } = service;
  const isOwn = variable === "OSTIARY_API_KEY";
  const client =
    kind === "sdk"
      ? [
          `import Ostiary from "ostiary";`,
          "",
          `// Reads ${variable}.`,
          `const client = new Ostiary({ ${isOwn ? "" : `service: ${JSON.stringify(variable.replace(/_API_KEY$/, ""))}, `}baseURL: ${JSON.stringify(`${publicUrl}/v1`)} });`,
        ]
      : [
          `import OpenAI from "openai";`,
          "",
          `const client = new OpenAI({`,
          `  apiKey: process.env.${variable},`,
          `  baseURL: ${JSON.stringify(`${publicUrl}/v1`)},`,
          "});",
        ];
  const call = `await client.chat.completions.create(${JSON.stringify(request, null, 2)});`;
  const rest =
    request.stream === true
      ? [
          `const stream = ${call}`,
          "for await (const chunk of stream) {",
          `  process.stdout.write(chunk.choices[0]?.delta.content ?? "");`,
          "}",
        ]
      : [`const completion = ${call}`, `console.log(completion.choices[0]?.message.content);`];
  return [...client, "", ...rest].join("\n");
}
