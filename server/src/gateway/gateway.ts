import type { CatalogModel, Route, Upstream } from "../catalog/catalog.ts";
import { Failure } from "../errors/failure.ts";
import { TransportError } from "../upstream/transport.ts";
import type { ChatAnswer, Dialect, Usage } from "./dialect.ts";
import type { JsonObject } from "./json.ts";

export interface ChatRequest {
  readonly model: CatalogModel;
  readonly body: JsonObject;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

/** An upstream's answer, begun: of a stream the first event is in. */
export type RoutedAnswer = ChatAnswer & { readonly upstream: string };

/** No route led to an answer. */
export class RoutesFailed extends Error {
  override readonly name = "RoutesFailed";
  /** The last route's. */
  readonly upstream: string;
  readonly reason: unknown;

  constructor(upstream: string, reason: unknown) {
    super(`no answer from upstream ${upstream}`, { cause: reason });
    this.upstream = upstream;
    this.reason = reason;
  }
}

/** Sends requests to upstreams. */
export class Gateway {
  readonly #upstreams: ReadonlyMap<string, Upstream>;
  readonly #dialects: Readonly<Record<Upstream["dialect"], Dialect>>;
  readonly #random: () => number;

  constructor(
    upstreams: ReadonlyMap<string, Upstream>,
    dialects: Readonly<Record<Upstream["dialect"], Dialect>>,
    random: () => number,
  ) {
    this.#upstreams = upstreams;
    this.#dialects = dialects;
    this.#random = random;
  }

  /**
   * Asks the model's routes, one after the other, until one answers. The next one is tried only while nothing has
   * reached the client, and only for a fault that another upstream may not have.
   *
   * @throws {RoutesFailed} with what the last route threw.
   */
  async chat(request: ChatRequest): Promise<RoutedAnswer> {
    const routes = inOrderOfTrial(request.model.routes, this.#random);
    for (const [index, route] of routes.entries()) {
      try {
        return await this.#ask(route, request);
      } catch (reason) {
        const isLast = index === routes.length - 1;
        if (isLast || request.signal.aborted || !anotherMayAnswer(reason)) {
          throw new RoutesFailed(route.upstream, reason);
        }
      }
    }
    throw new Error(`model ${request.model.id} has no route`);
  }

  async #ask(route: Route, request: ChatRequest): Promise<RoutedAnswer> {
    const upstream = this.#upstreams.get(route.upstream);
    if (upstream === undefined) throw new Error(`the catalog has no upstream ${route.upstream}`);
    const answer = await this.#dialects[upstream.dialect].chat({
      upstream,
      upstreamModel: route.model,
      publicModel: request.model.id,
      body: request.body,
      stream: request.stream,
      includeUsage: request.includeUsage,
      signal: request.signal,
    });
    if (answer.kind === "whole") return { ...answer, upstream: upstream.name };
    return { ...answer, events: await begun(answer.events), upstream: upstream.name };
  }
}

/** Resolves when the first item is in, so that a stream which fails at once can still go elsewhere. */
async function begun<Item>(items: AsyncIterable<Item>): Promise<AsyncIterable<Item>> {
  const iterator = items[Symbol.asyncIterator]();
  const first = await iterator.next();
  return (async function* () {
    try {
      for (let item = first; !item.done; item = await iterator.next()) yield item.value;
    } finally {
      await iterator.return?.();
    }
  })();
}

function anotherMayAnswer(reason: unknown): boolean {
  if (reason instanceof TransportError) return reason.fault !== "aborted";
  return reason instanceof Failure && reason.status >= 500;
}

/** The routes in a random order in which heavier ones tend to come first. */
function inOrderOfTrial(routes: readonly Route[], random: () => number): readonly Route[] {
  const left = [...routes];
  const ordered: Route[] = [];
  while (left.length > 0) {
    const total = left.reduce((sum, route) => sum + route.weight, 0);
    let ticket = random() * total;
    const drawn = left.findIndex((route) => {
      ticket -= route.weight;
      return ticket < 0;
    });
    ordered.push(...left.splice(Math.max(0, drawn), 1));
  }
  return ordered;
}

export type { ChatAnswer, Usage };
