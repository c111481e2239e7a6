import { keyVariable, type SnippetService, sdkPackage } from "../../components/snippets.ts";
import type { SetupId } from "./setup-ids.ts";

/** How a client is set up to use the service. */
export interface Setup {
  readonly id: SetupId;
  readonly label: string;
  /** The label among the few clients of the first steps. */
  readonly shortLabel?: string;
  /** What it sends its requests to. */
  readonly speaks: string;
  readonly steps: readonly SetupStep[];
}

export interface SetupStep {
  readonly kind: "install" | "file" | "command";
  /** What to do with the code. */
  readonly text: string;
  readonly code: string;
}

const PROMPT = "Say hello.";

/**
 * The set-ups of all clients for a model. Files read the key from the environment, so that no saved file contains a secret.
 *
 * @param key The key string of a key that was just created, for the commands. Without it they read the environment too.
 */
export function setupsFor(
  service: SnippetService,
  model: string,
  key: string | null = null,
): readonly Setup[] {
  const parts: Parts = {
    service,
    model,
    key,
    variable: keyVariable(service.serviceName),
    base: JSON.stringify(`${service.publicUrl}/v1`),
  };
  return [
    curlSetup(parts),
    openaiPython(parts),
    openaiNode(parts),
    ostiary(parts),
    aiSdk(parts),
    langchainPython(parts),
    langchain(parts),
    anthropic(parts),
    codex(parts),
    claudeCode(parts),
  ];
}

interface Parts {
  readonly service: SnippetService;
  readonly model: string;
  readonly key: string | null;
  /** The environment variable of the key. */
  readonly variable: string;
  /** The base URL of OpenAI's clients, as a string of the code. */
  readonly base: string;
}

function curlSetup(parts: Parts): Setup {
  const { model } = parts;
  const command = (text: string, path: string, body: object): SetupStep => ({
    kind: "command",
    text,
    code: curl(parts, path, body),
  });
  return {
    id: "curl",
    label: "curl",
    speaks: "Chat Completions, the Responses API or the Messages API",
    steps: [
      command("Chat Completions, as OpenAI's clients send them:", "/chat/completions", chatBody(model)),
      command("The Responses API:", "/responses", { model, input: PROMPT }),
      command("The Messages API, as Anthropic's clients send it:", "/messages", messagesBody(model)),
    ],
  };
}

/** The steps of a program in Node. */
function nodeSteps(parts: Parts, packages: string, code: string): readonly SetupStep[] {
  return programSteps(parts, {
    install: `npm install ${packages}`,
    file: "app.mjs",
    run: "node app.mjs",
    code,
  });
}

/** The steps of a program in Python. */
function pythonSteps(parts: Parts, packages: string, code: string): readonly SetupStep[] {
  return programSteps(parts, {
    install: `pip install ${packages}`,
    file: "app.py",
    run: "python app.py",
    code,
  });
}

interface Program {
  readonly install: string;
  readonly file: string;
  readonly run: string;
  readonly code: string;
}

function programSteps({ variable, key }: Parts, { install, file, run, code }: Program): readonly SetupStep[] {
  return [
    { kind: "install", text: "Install:", code: install },
    { kind: "file", text: `Save as ${file}:`, code },
    { kind: "command", text: "Run:", code: key === null ? run : `${variable}=${key} ${run}` },
  ];
}

function openaiPython(parts: Parts): Setup {
  const code = `import os

from openai import OpenAI

client = OpenAI(
    api_key=os.environ["${parts.variable}"],
    base_url=${parts.base},
)

response = client.responses.create(
    model=${JSON.stringify(parts.model)},
    input=${JSON.stringify(PROMPT)},
)
print(response.output_text)`;
  return {
    id: "openai-python",
    label: "Python (openai)",
    shortLabel: "Python",
    speaks: "the Responses API and Chat Completions",
    steps: pythonSteps(parts, "openai", code),
  };
}

function openaiNode(parts: Parts): Setup {
  const code = `import OpenAI from "openai";

const client = new OpenAI({
  apiKey: process.env.${parts.variable},
  baseURL: ${parts.base},
});

const response = await client.responses.create({
  model: ${JSON.stringify(parts.model)},
  input: ${JSON.stringify(PROMPT)},
});
console.log(response.output_text);`;
  return {
    id: "openai-node",
    label: "TypeScript (openai)",
    shortLabel: "TypeScript",
    speaks: "the Responses API and Chat Completions",
    steps: nodeSteps(parts, "openai", code),
  };
}

function ostiary(parts: Parts): Setup {
  const { variable } = parts;
  const prefix =
    variable === "OSTIARY_API_KEY"
      ? ""
      : `  service: ${JSON.stringify(variable.replace(/_API_KEY$/, ""))},\n`;
  const code = `import Ostiary from "ostiary";

// Reads ${variable}.
const client = new Ostiary({
${prefix}  baseURL: ${parts.base},
});

const completion = await client.chat.completions.create({
  model: ${JSON.stringify(parts.model)},
  messages: [{ role: "user", content: ${JSON.stringify(PROMPT)} }],
});
console.log(completion.choices[0]?.message.content);`;
  return {
    id: "ostiary",
    label: "TypeScript (Ostiary SDK)",
    shortLabel: "Ostiary SDK",
    speaks: "Chat Completions",
    steps: nodeSteps(parts, sdkPackage(parts.service), code),
  };
}

function aiSdk(parts: Parts): Setup {
  const code = `import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const provider = createOpenAI({
  apiKey: process.env.${parts.variable},
  baseURL: ${parts.base},
});

const { text } = await generateText({
  model: provider(${JSON.stringify(parts.model)}),
  prompt: ${JSON.stringify(PROMPT)},
});
console.log(text);`;
  return {
    id: "ai-sdk",
    label: "AI SDK",
    speaks: "the Responses API",
    steps: nodeSteps(parts, "ai @ai-sdk/openai", code),
  };
}

function langchainPython(parts: Parts): Setup {
  const code = `import os

from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    model=${JSON.stringify(parts.model)},
    api_key=os.environ["${parts.variable}"],
    base_url=${parts.base},
)

message = model.invoke(${JSON.stringify(PROMPT)})
print(message.text)`;
  return {
    id: "langchain-python",
    label: "LangChain (Python)",
    shortLabel: "LangChain",
    speaks: "Chat Completions",
    steps: pythonSteps(parts, "langchain-openai", code),
  };
}

function langchain(parts: Parts): Setup {
  const code = `import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: ${JSON.stringify(parts.model)},
  apiKey: process.env.${parts.variable},
  configuration: { baseURL: ${parts.base} },
});

const message = await model.invoke(${JSON.stringify(PROMPT)});
console.log(message.text);`;
  return {
    id: "langchain",
    label: "LangChain (TypeScript)",
    speaks: "Chat Completions",
    steps: nodeSteps(parts, "@langchain/openai @langchain/core", code),
  };
}

function anthropic(parts: Parts): Setup {
  const code = `import Anthropic from "@anthropic-ai/sdk";

// The base URL has no /v1.
const client = new Anthropic({
  apiKey: process.env.${parts.variable},
  baseURL: ${JSON.stringify(parts.service.publicUrl)},
});

const message = await client.messages.create({
  model: ${JSON.stringify(parts.model)},
  max_tokens: 1024,
  messages: [{ role: "user", content: ${JSON.stringify(PROMPT)} }],
});
for (const block of message.content) {
  if (block.type === "text") console.log(block.text);
}`;
  return {
    id: "anthropic",
    label: "TypeScript (Anthropic SDK)",
    speaks: "the Messages API",
    steps: nodeSteps(parts, "@anthropic-ai/sdk", code),
  };
}

function codex(parts: Parts): Setup {
  return {
    id: "codex",
    label: "Codex",
    speaks: "the Responses API",
    steps: [
      { kind: "file", text: "Add this to ~/.codex/config.toml:", code: codexConfig(parts) },
      {
        kind: "command",
        text: "Run Codex:",
        code: `codex exec --skip-git-repo-check ${JSON.stringify(PROMPT)}`,
      },
    ],
  };
}

function claudeCode(parts: Parts): Setup {
  return {
    id: "claude-code",
    label: "Claude Code",
    speaks: "the Messages API",
    steps: [
      {
        kind: "command",
        text: "Set these variables. The second model is for work in the background:",
        code: claudeVariables(parts),
      },
      { kind: "command", text: "Run Claude Code:", code: `claude --print ${JSON.stringify(PROMPT)}` },
    ],
  };
}

function chatBody(model: string): object {
  return { model, messages: [{ role: "user", content: PROMPT }] };
}

function messagesBody(model: string): object {
  return { model, max_tokens: 1024, messages: [{ role: "user", content: PROMPT }] };
}

function curl({ service, variable, key }: Parts, path: string, body: object): string {
  return [
    `curl ${service.publicUrl}/v1${path} \\`,
    `  -H "Authorization: Bearer ${key ?? `$${variable}`}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
  ].join("\n");
}

function codexConfig({ service, variable, model }: Parts): string {
  const id =
    service.serviceName
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "") || "ostiary";
  return `model = ${JSON.stringify(model)}
model_provider = "${id}"

[model_providers.${id}]
name = ${JSON.stringify(service.serviceName)}
base_url = ${JSON.stringify(`${service.publicUrl}/v1`)}
env_key = "${variable}"
wire_api = "responses"`;
}

function claudeVariables({ service, variable, model }: Parts): string {
  return [
    `export ANTHROPIC_BASE_URL=${JSON.stringify(service.publicUrl)}`,
    `export ANTHROPIC_AUTH_TOKEN="$${variable}"`,
    `export ANTHROPIC_MODEL=${JSON.stringify(model)}`,
    `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${JSON.stringify(model)}`,
  ].join("\n");
}
