import { expect } from "vitest";
import { type CatalogFile, writePricedCatalog } from "../fixtures/catalog.ts";
import {
  answerWhole,
  chunkOf,
  type ModelServer,
  type ReceivedRequest,
  startModelServer,
} from "../fixtures/model-server.ts";
import { type EnterpriseOwner, signInOperator, signUpEnterprise } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { type Owner, visit } from "../fixtures/user.ts";
import { metricOf, statusOfGet } from "./requests.ts";

export const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

/** Of each answer of the model: 1,000 tokens of prompt, 200 of answer. */
export const COST = 1_000n * 1_000n + 200n * 10_000n;
const GRANTED = 1_000_000_000_000n;

/** A model that costs, streamed or not. */
export async function startPricedModel(): Promise<AsyncDisposable & { env: Record<string, string> }> {
  const upstream: ModelServer = await startModelServer((request) =>
    request.body.stream === true ? answerStream(request) : answerWhole(request),
  );
  const catalog: CatalogFile = await writePricedCatalog(upstream.baseUrl, { maxOutputTokens: 1_000 });
  return {
    env: { OSTIARY_CATALOG: catalog.file, OSTIARY_LOG: "silent" },
    [Symbol.asyncDispose]: async () => {
      await upstream[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
    },
  };
}

function answerStream({ response }: ReceivedRequest): void {
  response.setHeader("content-type", "text/event-stream");
  response.write(chunkOf({ role: "assistant", content: "from" }));
  response.write(chunkOf({ content: " afar" }));
  response.write(chunkOf({}, "stop"));
  const usage = { prompt_tokens: 1_000, completion_tokens: 200, total_tokens: 1_200 };
  response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
}

/** Every wait in the service has a deadline of a few seconds, so a request without an answer after this time hangs. */
const REQUEST_TIMEOUT_MS = 30_000;

export type FundedOwner = EnterpriseOwner & Owner & { readonly key: string };

/** An account with much credit and a key. */
export async function signUpFunded(service: Service): Promise<FundedOwner> {
  const operator = await signInOperator(service.baseUrl);
  const owner = await signUpEnterprise(service.baseUrl, operator);
  const { balanceNanoUsd } = await owner.trpc.credits.balance.query();
  await operator.trpc.operator.accounts.grantCredits.mutate({
    id: owner.accountId,
    amountNanoUsd: GRANTED - balanceNanoUsd,
    reason: "test",
  });
  const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
  return { ...owner, key };
}

/** Clients that ask on and on, and note what they have seen whole. */
export class Load {
  /** Request ids of answers with status 200 that came to their end. */
  readonly seen = new Set<string>();
  /** How often each other status was answered. */
  readonly refused = new Map<number, number>();
  /** How many requests had no answer within the timeout. */
  hung = 0;
  readonly #key: string;
  readonly #clients: Promise<void>[] = [];
  #stopped = false;

  constructor(key: string) {
    this.#key = key;
  }

  /** Adds clients that ask whatever address is told then; `null`: they wait a moment. After each answer they pause. */
  start(clients: number, address: () => string | null, pauseMs = 0): void {
    for (let number = 0; number < clients; number++)
      this.#clients.push(this.#client(address, pauseMs, number % 2 === 1));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #client(address: () => string | null, pauseMs: number, stream: boolean): Promise<void> {
    while (!this.#stopped) {
      const baseUrl = address();
      const isAnswered = baseUrl !== null && (await this.#ask(baseUrl, stream));
      const waitMs = isAnswered ? pauseMs : 10;
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  async #ask(baseUrl: string, stream: boolean): Promise<boolean> {
    try {
      const response = await fetch(`${baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/chat", messages: [{ role: "user", content: "hi" }], stream }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      const text = await response.text();
      if (response.status !== 200) {
        this.refused.set(response.status, (this.refused.get(response.status) ?? 0) + 1);
        return false;
      }
      const isWhole = stream ? text.endsWith("data: [DONE]\n\n") : JSON.parse(text).choices !== undefined;
      const id = response.headers.get("x-request-id");
      if (isWhole && id !== null) this.seen.add(id);
      return isWhole;
    } catch (error) {
      // Cut: what this client did not see whole it need not find.
      if ((error as Error).name === "TimeoutError") this.hung++;
      return false;
    }
  }
}

interface Line {
  readonly request_id: string;
  readonly status: number;
  readonly cost_nano_usd: number;
  readonly endpoint: string;
}

/** Every answer that was seen has one entry and one charge, and the balance is what was granted less all charges. */
export async function expectNothingLost(service: Service, owner: FundedOwner, seen: ReadonlySet<string>) {
  const headers = { authorization: `Bearer ${owner.key}` };
  // Requests are answered without the database, too: it may still be away.
  const waiting = () => metricOf(service.baseUrl, /^ostiary_recorder_waiting_entries$/);
  await expect.poll(waiting).toBe(0);
  await expect.poll(() => statusOfGet(`${service.baseUrl}/readyz`)).toBe(200);
  const response = await fetch(`${service.baseUrl}/v1/audit/export`, { headers });
  const lines: Line[] = (await response.text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const entries = new Map(lines.map((line) => [line.request_id, line]));
  expect(entries.size).toBe(lines.length);
  expect([...seen].filter((id) => entries.get(id)?.cost_nano_usd !== Number(COST))).toEqual([]);
  const charged = lines.reduce((sum, line) => sum + BigInt(line.cost_nano_usd), 0n);
  const operator = await signInOperator(service.baseUrl);
  const { balanceNanoUsd } = await operator.trpc.operator.accounts.get.query({ id: owner.accountId });
  expect(balanceNanoUsd).toBe(GRANTED - charged);
  expect(await operator.trpc.operator.checkBooks.query()).toMatchObject({
    mismatches: [],
    usageMismatches: [],
  });
  const { problems, next } = await visit(service.baseUrl, headers).trpc.audit.verify.query();
  expect({ problems, next }).toEqual({ problems: [], next: null });
}
