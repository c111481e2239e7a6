import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { chunkOf, type ReceivedRequest, startModelServer } from "../fixtures/model-server.ts";

/** The token counts that an upstream reports for an answer. */
export interface Bill {
  readonly prompt: number;
  readonly completion: number;
}

/** A model whose answers can be held back, and whose bills a test decides. */
export interface GatedModel extends AsyncDisposable {
  /** The environment of services that serve this model. */
  readonly env: Readonly<Record<string, string>>;
  /** What the upstream reports from now on. `null`: {@link ANSWER_TOKENS}, or `max_tokens` of the request if that is less. */
  bill: Bill | null;
  /** How many requests wait behind a gate. A request does when {@link waitsFor} made its message. */
  waiting(gate: string): number;
  /** Answers all requests behind a gate, and later ones at once. */
  open(gate: string): void;
}

export const MODEL = "acme/chat";
/** A model that charges for prompts, too. */
export const LARGE_MODEL = {
  id: "acme/large",
  contextTokens: 128_000,
  maxOutputTokens: 4_096,
  modalities: { input: ["text", "image", "file"], output: ["text"] },
  prices: { inputUsdPerMTok: 10, outputUsdPerMTok: 40 },
  routes: [{ upstream: "main", model: "inner" }],
};
/** The length of each answer. Prompts are free, so that a request holds exactly what it is charged. */
const ANSWER_TOKENS = 200;
export const ANSWER_COST = BigInt(ANSWER_TOKENS) * 10_000n;

/** The message of a request whose answer waits behind a gate. */
export function waitsFor(gate: string): string {
  return `wait for ${gate}`;
}

/** Starts the model's server and writes a catalog file with both models. */
export async function startGatedModel(): Promise<GatedModel> {
  const waiting = new Map<string, (() => void)[]>();
  const opened = new Set<string>();
  let bill: Bill | null = null;
  const upstream = await startModelServer((request) => {
    const { messages = [], max_tokens: maxTokens = ANSWER_TOKENS } = request.body as ChatBody;
    const gate = /^wait for (.+)$/.exec(String(messages.at(-1)?.content))?.[1];
    const taken = bill ?? { prompt: 1, completion: Math.min(ANSWER_TOKENS, maxTokens) };
    const finish = begin(request, taken);
    if (gate === undefined || opened.has(gate)) finish();
    else waiting.set(gate, [...(waiting.get(gate) ?? []), finish]);
  });
  const catalog: CatalogFile = await writeCatalog({
    upstreams: {
      main: {
        dialect: "openai",
        baseUrl: upstream.baseUrl,
        maxConcurrency: 1_000,
        breaker: { failures: 1_000 },
      },
    },
    models: [
      {
        id: MODEL,
        contextTokens: 8_192,
        maxOutputTokens: ANSWER_TOKENS,
        prices: { inputUsdPerMTok: 0, outputUsdPerMTok: 10 },
        routes: [{ upstream: "main", model: "inner" }],
      },
      LARGE_MODEL,
    ],
  });
  return {
    env: { OSTIARY_CATALOG: catalog.file },
    get bill() {
      return bill;
    },
    set bill(value) {
      bill = value;
    },
    waiting: (gate) => waiting.get(gate)?.length ?? 0,
    open: (gate) => {
      opened.add(gate);
      for (const finish of waiting.get(gate) ?? []) finish();
      waiting.delete(gate);
    },
    [Symbol.asyncDispose]: async () => {
      await upstream[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
    },
  };
}

interface ChatBody {
  readonly messages?: readonly { readonly content: unknown }[];
  readonly max_tokens?: number;
  readonly stream?: boolean;
}

/** Begins an answer, without a text if it has no tokens; a stream sends its first event. @returns a function that completes it. */
function begin({ body, response }: ReceivedRequest, { prompt, completion }: Bill): () => void {
  const [first, rest] = completion === 0 ? ["", ""] : ["from", " afar"];
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  if (body.stream !== true) {
    const message = { role: "assistant", content: first + rest };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const text = JSON.stringify({
      id: "1",
      object: "chat.completion",
      created: 1,
      model: "inner",
      choices,
      usage,
    });
    return () => response.setHeader("content-type", "application/json").end(text);
  }
  response.setHeader("content-type", "text/event-stream");
  response.write(chunkOf({ role: "assistant", content: first }));
  return () => {
    response.write(chunkOf({ content: rest }, "stop"));
    response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  };
}
