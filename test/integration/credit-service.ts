import { expect } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { answerWhole, chunkOf, type ReceivedRequest, startModelServer } from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

/** The cost of a request to `acme/output` that takes all of its 100 tokens of output. */
export const OUTPUT_NANO_USD = 100n * 10_000n;

/** The prices of `acme/parts`, each another. A USD per million tokens is 1,000 nano-USD per token. */
const PRICES_OF_PARTS = {
  inputUsdPerMTok: "1",
  cachedInputUsdPerMTok: "0.1",
  cacheWriteUsdPerMTok: "1.25",
  cacheWrite1hUsdPerMTok: "2",
  audioInputUsdPerMTok: "9",
  imageInputUsdPerMTok: "3",
  outputUsdPerMTok: "5",
  reasoningUsdPerMTok: "4",
  audioOutputUsdPerMTok: "30",
  imageOutputUsdPerMTok: "40",
};

type Answer = (request: ReceivedRequest) => void;

export type CreditService = Awaited<ReturnType<typeof startCreditService>>;

/** A service whose accounts start without credit, and whose upstream answers what a test says. */
export async function startCreditService() {
  let answer: Answer = answerWhole;
  const upstream = await startModelServer((request) => answer(request));
  const catalog = await writeCatalog(catalogAt(upstream.baseUrl));
  const env = { OSTIARY_CATALOG: catalog.file, OSTIARY_PLANS: plansWithoutCredit() };
  const service = await startOperatedService({ env });
  const operator = await signInOperator(service.baseUrl);

  function grant(id: string, amountNanoUsd: bigint): Promise<{ balanceNanoUsd: bigint }> {
    return operator.trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd, reason: "test" });
  }

  async function ownerWith(nanoUsd: bigint) {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    if (nanoUsd > 0n) await grant(id, nanoUsd);
    return { ...owner, accountId: id };
  }

  function chat(
    key: string,
    fields: object = {},
    { baseUrl = service.baseUrl, signal }: { baseUrl?: string; signal?: AbortSignal } = {},
  ): Promise<Response> {
    return sendChat(baseUrl, key, { model: "acme/output", max_tokens: 100, ...fields }, { signal });
  }

  /** The metric of uncollected amounts with this reason, in US dollars. */
  async function uncollected(reason: string): Promise<number> {
    const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
    const found = new RegExp(`^ostiary_uncollected_usd_total{reason="${reason}"} (\\S+)$`, "m").exec(text);
    return Number(found?.[1] ?? Number.NaN);
  }

  /** Asserts that every balance is the sum of its ledger. */
  async function reconcile(): Promise<void> {
    const report = await operator.trpc.operator.checkBooks.query();
    expect(report).toMatchObject({ mismatches: [], usageMismatches: [] });
  }

  return {
    baseUrl: service.baseUrl,
    databaseUrl: service.databaseUrl ?? "",
    env,
    operator,
    upstream,
    /** Says what the upstream answers from now on. */
    setAnswer: (next: Answer) => {
      answer = next;
    },
    grant,
    ownerWith,
    chat,
    uncollected,
    reconcile,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
    },
  };
}

function plansWithoutCredit(): string {
  const plan = {
    requestsPerMinute: null,
    tokensPerMinute: null,
    concurrentRequests: null,
    startingCreditsUsd: 0,
  };
  return JSON.stringify({ free: plan, pro: plan, enterprise: plan });
}

function catalogAt(baseUrl: string) {
  const routes = [{ upstream: "main", model: "inner" }];
  return {
    upstreams: { main: { dialect: "openai", baseUrl } },
    models: [
      { id: "acme/output", prices: { inputUsdPerMTok: 0, outputUsdPerMTok: 10 }, routes },
      { id: "acme/chat", contextTokens: 8_192, prices: { inputUsdPerMTok: 1, outputUsdPerMTok: 10 }, routes },
      { id: "acme/parts", prices: PRICES_OF_PARTS, routes },
      // The longest answer to one request costs more than the database can store.
      { id: "acme/dear", prices: { inputUsdPerMTok: 0, outputUsdPerMTok: 99_999_999 }, routes },
      { id: "acme/images", prices: { inputUsdPerMTok: 0, outputUsdPerMTok: 0, imageUsd: "0.01" }, routes },
      { id: "acme/free", routes },
    ],
  };
}

/** A whole answer that reports so many tokens. */
export function answerWith(completionTokens: number, promptTokens = 10): (request: ReceivedRequest) => void {
  return ({ response }) => {
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }],
        usage: { prompt_tokens: promptTokens, completion_tokens: completionTokens },
      }),
    );
  };
}

/** A whole answer, or a stream if one is asked for, that reports this usage. */
export function answerWithUsage(usage: object): (request: ReceivedRequest) => void {
  const text = { role: "assistant", content: "x" };
  return ({ body, response }) => {
    if (body.stream !== true) {
      response.setHeader("content-type", "application/json");
      const choices = [{ index: 0, message: text, finish_reason: "stop" }];
      return void response.end(JSON.stringify({ choices, usage }));
    }
    response.setHeader("content-type", "text/event-stream");
    response.write(chunkOf(text, "stop"));
    response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  };
}

export async function balanceOf({ trpc }: Owner): Promise<bigint> {
  return (await trpc.credits.balance.query()).balanceNanoUsd;
}
