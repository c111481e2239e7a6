import { describe, expect, it } from "vitest";
import { Gateway } from "../../server/src/gateway/gateway.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { chatCompletions } from "../../server/src/operations/chat-completions.ts";
import type { ModelCall } from "../../server/src/operations/operation.ts";
import { costBasisOf } from "../../server/src/request/hold-credit.ts";
import { SEAL_KEY_BYTES, Sealer } from "../../server/src/secrets/sealer.ts";
import { readCatalogFile } from "../../server/src/start/open-models.ts";
import { DIALECTS, openDialects } from "../../server/src/upstream/dialects.ts";
import { writeCatalog } from "../fixtures/catalog.ts";
import { FetchTransport } from "../fixtures/fetch-transport.ts";
import { estimator, replayVendor } from "./dialect.ts";

const OPENAI = "https://api.openai.com/v1";
const AZURE = "https://some.openai.azure.com/openai/v1";
const COGNITIVE = "https://some.cognitiveservices.azure.com/openai/v1";
const OTHERS_ON_AZURE = "https://some.models.ai.azure.com/v1";
const FOUNDRY = "https://some.services.ai.azure.com/models";
const OTHER = "https://models.example/v1";
const COMPLETION = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

const vendor = replayVendor(/chat\/completions$/);

/** The body that an upstream gets for a request whose credit covers only this many tokens of the answer. */
async function sentFor(baseUrl: string, fields: object, affordableTokens: number | null): Promise<object> {
  await using file = await writeCatalog({
    upstreams: { up: { dialect: "openai", baseUrl } },
    models: [
      {
        id: "acme/chat",
        routes: [{ upstream: "up", model: "m" }],
        prices: { inputUsdPerMTok: "1", outputUsdPerMTok: "1" },
      },
    ],
  });
  const { first: catalog } = await readCatalogFile(file.file, {});
  const gateway = new Gateway({
    catalog,
    dialects: openDialects(DIALECTS, {
      transport: new FetchTransport(),
      now: () => new Date(),
      monotonicMs: () => 0,
    }),
    random: Math.random,
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    onCredentialRefused: () => {},
  });
  const operation = chatCompletions({
    gateway,
    estimator,
    maxBodyBytes: 1_000_000,
    monotonicMs: () => performance.now(),
    sealer: new Sealer([new Uint8Array(SEAL_KEY_BYTES)]),
  });
  const model = catalog.find("acme/chat");
  const text = JSON.stringify({
    model: "acme/chat",
    messages: [{ role: "user", content: "hi" }],
    ...fields,
  });
  const body = JsonBody.parse(text);
  if (model === null || body === null) throw new Error("no model");
  vendor.answers(200, COMPLETION);
  const input = operation.read(body);
  const costBasis = costBasisOf(model, input, Buffer.byteLength(text));
  await operation.run({
    ...{ input, body, accountId: "", exchange: { query: new URLSearchParams(), header: () => [] } },
    paid: { costBasis, hold: { amountNanoUsd: 1n, spender: null, settle: () => {} }, affordableTokens },
    ...{ signal: new AbortController().signal, startedMs: 0 },
  } as unknown as ModelCall<typeof input>);
  const { model: _, messages: __, ...sent } = vendor.sent.at(-1)?.body ?? {};
  return sent;
}

describe("a chat request that credit covers only in part", () => {
  it.each([
    ["OpenAI's models, which refuse the older name where they reason", OPENAI, "max_completion_tokens"],
    ["OpenAI's models on Azure", AZURE, "max_completion_tokens"],
    ["OpenAI's models in Azure's other service", COGNITIVE, "max_completion_tokens"],
    ["other vendors' models on Azure", OTHERS_ON_AZURE, "max_tokens"],
    ["all vendors' models on Azure", FOUNDRY, "max_completion_tokens"],
    ["other servers, which know only the older name", OTHER, "max_tokens"],
  ])("is limited by the name that the upstream knows: %s", async (_, baseUrl, name) => {
    expect(await sentFor(baseUrl, {}, 50)).toEqual({ [name]: 50 });
    expect(await sentFor(baseUrl, { max_tokens: null }, 50)).toMatchObject({ [name]: 50 });
    expect(await sentFor(baseUrl, {}, null)).toEqual({});
  });

  it("keeps the names by which its client limits it", async () => {
    for (const baseUrl of [OPENAI, OTHER]) {
      expect(await sentFor(baseUrl, { max_tokens: 90 }, 50)).toEqual({ max_tokens: 50 });
      const both = { max_tokens: 80, max_completion_tokens: 90 };
      expect(await sentFor(baseUrl, both, 50)).toEqual({ max_tokens: 50, max_completion_tokens: 50 });
      expect(await sentFor(baseUrl, both, null)).toEqual(both);
      // A server may know only one of them.
      expect(await sentFor(baseUrl, { ...both, max_tokens: 20 }, 50)).toEqual({
        max_tokens: 20,
        max_completion_tokens: 50,
      });
    }
  });
});
