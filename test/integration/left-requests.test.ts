import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

const WORDS = " word".repeat(500);
/** The prompt has 500 words, and a few tokens around them. */
const PROMPT = { least: 500, most: 520 };

const BODIES = {
  "chat/completions": { messages: [{ role: "user", content: WORDS }] },
  responses: { input: WORDS },
  messages: { messages: [{ role: "user", content: WORDS }], max_tokens: 100 },
  embeddings: { input: WORDS },
} as const;
type Path = keyof typeof BODIES;

let upstream: ModelServer;
let catalog: CatalogFile;
let service: Service;
let owner: Owner & { readonly key: string };

beforeAll(async () => {
  // It never answers.
  upstream = await startModelServer(() => {});
  const { baseUrl } = upstream;
  const prices = { inputUsdPerMTok: "1", outputUsdPerMTok: "10" };
  const model = (id: string, name: string) => ({ id, prices, routes: [{ upstream: name, model: "inner" }] });
  catalog = await writeCatalog({
    upstreams: {
      openai: { dialect: "openai", baseUrl },
      anthropic: { dialect: "anthropic", baseUrl },
      narrow: { dialect: "openai", baseUrl, maxConcurrency: 1 },
    },
    models: [
      model("acme/openai", "openai"),
      model("acme/anthropic", "anthropic"),
      model("acme/narrow", "narrow"),
      { ...model("acme/embeddings", "openai"), modalities: { input: ["text"], output: ["embedding"] } },
    ],
  });
  service = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
  owner = await signUpWithKey(service.baseUrl);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
});

/** Sends a request, and returns what disconnects its client. */
function ask(path: Path, model: string, more: object = {}): () => Promise<void> {
  const left = new AbortController();
  const answered = fetch(`${service.baseUrl}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, ...BODIES[path], ...more }),
    signal: left.signal,
  });
  return async () => {
    left.abort();
    await expect(answered).rejects.toThrow();
  };
}

/** Waits until the upstream has so many requests. */
const untilReceived = (count: number) => expect.poll(() => upstream.received.length).toBe(count);

/** The newest entry, once there are so many. */
async function entryAfter(count: number) {
  const entries = async () => (await owner.trpc.audit.list.query({ limit: 100 })).entries;
  await expect.poll(async () => (await entries()).length).toBe(count);
  return (await entries())[0];
}

describe("a request that its client leaves before the upstream has answered", () => {
  it.each<readonly [Path, string, object]>([
    ["chat/completions", "acme/openai", {}],
    ["chat/completions", "acme/openai", { stream: true }],
    ["chat/completions", "acme/anthropic", {}],
    ["responses", "acme/openai", {}],
    ["responses", "acme/anthropic", { stream: true }],
    ["messages", "acme/anthropic", {}],
    ["messages", "acme/openai", { stream: true }],
    ["embeddings", "acme/embeddings", {}],
  ])("is charged for its prompt, as the service counts it: %s of %s %o", async (path, model, more) => {
    const [received, recorded] = [upstream.received.length, await entriesOf()];
    const leave = ask(path, model, more);
    await untilReceived(received + 1);
    await leave();
    const entry = await entryAfter(recorded + 1);
    expect(entry).toMatchObject({
      status: 499,
      endReason: "client_gone",
      usageSource: "estimated",
      completionTokens: 0,
    });
    const promptTokens = entry?.promptTokens ?? 0;
    expect(promptTokens).toBeGreaterThanOrEqual(PROMPT.least);
    expect(promptTokens).toBeLessThanOrEqual(PROMPT.most);
    expect(entry?.costNanoUsd).toBe(BigInt(promptTokens) * 1_000n);
  });

  it("costs nothing while it waits for the upstream to have room", async () => {
    const [received, recorded] = [upstream.received.length, await entriesOf()];
    const leaveFirst = ask("chat/completions", "acme/narrow");
    await untilReceived(received + 1);
    const leave = ask("chat/completions", "acme/narrow");
    const waiting = 'ostiary_upstream_requests_waiting{upstream="narrow"}';
    await expect.poll(() => metricOf(service.baseUrl, waiting)).toBe(1);
    await leave();
    expect(await entryAfter(recorded + 1)).toMatchObject({
      status: 499,
      costNanoUsd: 0n,
      promptTokens: null,
    });
    await leaveFirst();
    await entryAfter(recorded + 2);
  });
});

async function entriesOf(): Promise<number> {
  return (await owner.trpc.audit.list.query({ limit: 100 })).entries.length;
}
