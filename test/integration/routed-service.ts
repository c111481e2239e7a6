import { writeCatalog } from "../fixtures/catalog.ts";
import { answerWhole, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { type Answer, upstreamFaults } from "./upstream-faults.ts";

const NAMES = ["one", "two", "narrow", "spare"] as const;
type Name = (typeof NAMES)[number];

export const routesTo = (...names: string[]) => names.map((upstream) => ({ upstream, model: "inner" }));

/** Weights that make the service try the routes in this order, as good as always. */
const inOrder = (first: Name, second: Name) => [
  { upstream: first, model: "inner", weight: 1_000_000 },
  { upstream: second, model: "inner", weight: 0.000_001 },
];

export type RoutedService = Awaited<ReturnType<typeof startRoutedService>>;

/** A service whose models are served by four upstreams. A test says what each answers. */
export async function startRoutedService() {
  const answers: Partial<Record<Name, Answer>> = {};
  const start = (name: Name) =>
    startModelServer((request) =>
      (answers[name] ?? ((asked) => answerWhole(asked, `from ${name}`)))(request),
    );
  const servers = {
    one: await start("one"),
    two: await start("two"),
    narrow: await start("narrow"),
    spare: await start("spare"),
  };
  const catalog = await writeCatalog(catalogOf(servers));
  const service = await startOperatedService({
    env: { OSTIARY_CATALOG: catalog.file, OSTIARY_LOG: "silent" },
  });
  const operator = await signInOperator(service.baseUrl);
  const { key } = await signUpWithKey(service.baseUrl);

  /** By default with the key of the first account. */
  function chat(
    model: string,
    fields: object = {},
    signal?: AbortSignal,
    ofKey: string = key,
  ): Promise<Response> {
    return fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${ofKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], ...fields }),
      signal: signal ?? null,
    });
  }

  /** A stream of the Messages API, which the service translates. */
  function messages(model: string): Promise<Response> {
    return fetch(`${service.baseUrl}/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model,
        max_tokens: 50,
        stream: true,
        messages: [{ role: "user", content: "hi" }],
      }),
    });
  }

  async function healthOf(name: Name | "slow") {
    const { upstreams } = await operator.trpc.operator.upstreams.query();
    const health = upstreams.find((upstream) => upstream.name === name);
    if (health === undefined) throw new Error(`there is no upstream ${name}`);
    return health;
  }

  return {
    baseUrl: service.baseUrl,
    servers,
    /** What each upstream answers; one that is not named answers a whole completion. */
    answers,
    chat,
    messages,
    healthOf,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
      for (const server of Object.values(servers)) await server[Symbol.asyncDispose]();
    },
  };
}

function catalogOf(servers: Record<Name, ModelServer>) {
  const upstream = (name: Name, more: object = {}) => ({
    dialect: "openai",
    baseUrl: servers[name].baseUrl,
    timeouts: { firstByteMs: 1_000, idleMs: 1_000 },
    breaker: { failures: 3, openMs: 300 },
    ...more,
  });
  return {
    upstreams: {
      one: upstream("one"),
      two: upstream("two"),
      narrow: upstream("narrow", { maxConcurrency: 2, breaker: { failures: 100 }, timeouts: {} }),
      spare: upstream("spare"),
      slow: upstream("one", { timeouts: {} }),
    },
    models: [
      { id: "acme/one", routes: routesTo("one") },
      { id: "acme/two", routes: routesTo("two") },
      { id: "acme/slow", routes: routesTo("slow") },
      { id: "acme/both", routes: inOrder("one", "two") },
      // One model for each fault: the service limits retries to a share of a model's requests.
      ...Object.keys(upstreamFaults).map((_, index) => ({
        id: `acme/fault-${index}`,
        routes: inOrder("one", "two"),
      })),
      { id: "acme/narrow", routes: routesTo("narrow") },
      { id: "acme/narrow-or-spare", routes: inOrder("narrow", "spare") },
      {
        id: "acme/weighed",
        routes: [
          { upstream: "two", model: "inner", weight: 3 },
          { upstream: "spare", model: "inner", weight: 1 },
        ],
      },
    ],
  };
}
