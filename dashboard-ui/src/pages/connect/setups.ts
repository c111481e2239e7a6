import { keyVariable, type SnippetService } from "../../components/snippets.ts";

/** How a client is set up to use the service. */
export interface Setup {
  readonly id: SetupId;
  readonly label: string;
  /** What it sends its requests to. */
  readonly speaks: string;
  readonly steps: readonly SetupStep[];
}

export interface SetupStep {
  /** What to do with the code. */
  readonly text: string;
  readonly code: string;
}

export type SetupId = (typeof SETUP_IDS)[number];

export const SETUP_IDS = [
  "curl",
  "ostiary",
  "openai-node",
  "openai-python",
  "anthropic",
  "ai-sdk",
  "langchain",
  "codex",
  "claude-code",
] as const;

const PROMPT = "Say hello.";

/** The set-ups of all clients for a model. They read the key from the environment, so that no code contains a secret. */
export function setupsFor(service: SnippetService, model: string): readonly Setup[] {
  const key = keyVariable(service.serviceName);
  const base = `${service.publicUrl}/v1`;
  const node = (install: string) =>
    `Install the package with npm i ${install}, save this as app.mjs, and run it with node app.mjs.`;
  return [
    {
      id: "curl",
      label: "curl",
      speaks: "Chat Completions, the Responses API or the Messages API",
      steps: [
        {
          text: "Chat Completions, as OpenAI's clients send them:",
          code: curl(service, "/chat/completions", chatBody(model)),
        },
        { text: "The Responses API:", code: curl(service, "/responses", { model, input: PROMPT }) },
        {
          text: "The Messages API, as Anthropic's clients send it:",
          code: curl(service, "/messages", messagesBody(model)),
        },
      ],
    },
    {
      id: "ostiary",
      label: "Ostiary SDK",
      speaks: "Chat Completions",
      steps: [{ text: node("ostiary"), code: ostiary(service, model) }],
    },
    {
      id: "openai-node",
      label: "openai (Node)",
      speaks: "the Responses API and Chat Completions",
      steps: [
        {
          text: node("openai"),
          code: `import OpenAI from "openai";

const client = new OpenAI({
  apiKey: process.env.${key},
  baseURL: ${JSON.stringify(base)},
});

const response = await client.responses.create({
  model: ${JSON.stringify(model)},
  input: ${JSON.stringify(PROMPT)},
});
console.log(response.output_text);`,
        },
      ],
    },
    {
      id: "openai-python",
      label: "openai (Python)",
      speaks: "the Responses API and Chat Completions",
      steps: [
        {
          text: "Install the package with pip install openai, save this as app.py, and run it with python app.py.",
          code: `import os

from openai import OpenAI

client = OpenAI(
    api_key=os.environ["${key}"],
    base_url=${JSON.stringify(base)},
)

response = client.responses.create(
    model=${JSON.stringify(model)},
    input=${JSON.stringify(PROMPT)},
)
print(response.output_text)`,
        },
      ],
    },
    {
      id: "anthropic",
      label: "Anthropic SDK",
      speaks: "the Messages API",
      steps: [
        {
          text: `${node("@anthropic-ai/sdk")} Its base URL has no /v1.`,
          code: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  apiKey: process.env.${key},
  baseURL: ${JSON.stringify(service.publicUrl)},
});

const message = await client.messages.create({
  model: ${JSON.stringify(model)},
  max_tokens: 1024,
  messages: [{ role: "user", content: ${JSON.stringify(PROMPT)} }],
});
for (const block of message.content) {
  if (block.type === "text") console.log(block.text);
}`,
        },
      ],
    },
    {
      id: "ai-sdk",
      label: "AI SDK",
      speaks: "the Responses API",
      steps: [
        {
          text: node("ai @ai-sdk/openai"),
          code: `import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const provider = createOpenAI({
  apiKey: process.env.${key},
  baseURL: ${JSON.stringify(base)},
});

const { text } = await generateText({
  model: provider(${JSON.stringify(model)}),
  prompt: ${JSON.stringify(PROMPT)},
});
console.log(text);`,
        },
      ],
    },
    {
      id: "langchain",
      label: "LangChain",
      speaks: "Chat Completions",
      steps: [
        {
          text: node("@langchain/openai @langchain/core"),
          code: `import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: ${JSON.stringify(model)},
  apiKey: process.env.${key},
  configuration: { baseURL: ${JSON.stringify(base)} },
});

const message = await model.invoke(${JSON.stringify(PROMPT)});
console.log(message.text);`,
        },
      ],
    },
    {
      id: "codex",
      label: "Codex",
      speaks: "the Responses API",
      steps: [
        { text: "Add this to ~/.codex/config.toml:", code: codexConfig(service, model) },
        { text: "Run Codex:", code: `codex exec --skip-git-repo-check ${JSON.stringify(PROMPT)}` },
      ],
    },
    {
      id: "claude-code",
      label: "Claude Code",
      speaks: "the Messages API",
      steps: [
        {
          text: "Set these variables. The second model is for work in the background:",
          code: claudeVariables(service, model),
        },
        { text: "Run Claude Code:", code: `claude --print ${JSON.stringify(PROMPT)}` },
      ],
    },
  ];
}

function chatBody(model: string): object {
  return { model, messages: [{ role: "user", content: PROMPT }] };
}

function messagesBody(model: string): object {
  return { model, max_tokens: 1024, messages: [{ role: "user", content: PROMPT }] };
}

function curl({ serviceName, publicUrl }: SnippetService, path: string, body: object): string {
  return [
    `curl ${publicUrl}/v1${path} \\`,
    `  -H "Authorization: Bearer $${keyVariable(serviceName)}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
  ].join("\n");
}

function ostiary({ serviceName, publicUrl }: SnippetService, model: string): string {
  const variable = keyVariable(serviceName);
  const service =
    variable === "OSTIARY_API_KEY"
      ? ""
      : `  service: ${JSON.stringify(variable.replace(/_API_KEY$/, ""))},\n`;
  return `import Ostiary from "ostiary";

// Reads ${variable}.
const client = new Ostiary({
${service}  baseURL: ${JSON.stringify(`${publicUrl}/v1`)},
});

const completion = await client.chat.completions.create({
  model: ${JSON.stringify(model)},
  messages: [{ role: "user", content: ${JSON.stringify(PROMPT)} }],
});
console.log(completion.choices[0]?.message.content);`;
}

function codexConfig({ serviceName, publicUrl }: SnippetService, model: string): string {
  const id =
    serviceName
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "") || "ostiary";
  return `model = ${JSON.stringify(model)}
model_provider = "${id}"

[model_providers.${id}]
name = ${JSON.stringify(serviceName)}
base_url = ${JSON.stringify(`${publicUrl}/v1`)}
env_key = "${keyVariable(serviceName)}"
wire_api = "responses"`;
}

function claudeVariables({ serviceName, publicUrl }: SnippetService, model: string): string {
  return [
    `export ANTHROPIC_BASE_URL=${JSON.stringify(publicUrl)}`,
    `export ANTHROPIC_AUTH_TOKEN="$${keyVariable(serviceName)}"`,
    `export ANTHROPIC_MODEL=${JSON.stringify(model)}`,
    `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${JSON.stringify(model)}`,
  ].join("\n");
}
