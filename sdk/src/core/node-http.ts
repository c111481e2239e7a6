import { onAbort } from "./abort.ts";
import { type FindProxy, proxiesOfEnvironment, proxyAddress, proxyHeaders } from "./proxy.ts";
import type { Send, WireAnswer, WireRequest } from "./wire.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The part of `node:http` that is used here, because the package depends on no runtime's types. */
interface Incoming {
  readonly statusCode?: number;
  readonly statusMessage?: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  on(event: "data", listener: (chunk: Bytes) => void): this;
  on(event: "end" | "close", listener: () => void): this;
  on(event: "error", listener: (error: Error) => void): this;
  pause(): this;
  resume(): this;
  destroy(error?: Error): this;
}

interface Outgoing {
  on(event: "socket", listener: (socket: Socket) => void): this;
  on(event: "response", listener: (incoming: Incoming) => void): this;
  on(event: "connect", listener: (incoming: Incoming, socket: Socket) => void): this;
  on(event: "error", listener: (error: Error) => void): this;
  on(event: "close", listener: () => void): this;
  setTimeout(ms: number, onTimeout: () => void): this;
  end(body?: string): this;
  destroy(error?: Error): this;
}

interface Socket {
  on(event: "error", listener: () => void): this;
  removeListener(event: "error", listener: () => void): this;
  setTimeout(ms: number): this;
  destroy(): this;
}

interface ConnectOptions {
  readonly host: string;
  readonly port: number | string;
  /** That of the request, whose options an agent gets. */
  readonly leaving?: AbortSignal;
}

interface Agent {
  /** Returns a socket, or passes one to the callback. */
  createConnection(
    options: ConnectOptions & { readonly socket?: Socket },
    done?: (error: Error | null, socket?: Socket) => void,
  ): Socket | undefined;
}

interface HttpModule {
  readonly Agent: new (options: { readonly keepAlive: boolean }) => Agent;
  request(
    url: string | URL,
    options: {
      readonly method: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly path?: string;
      readonly agent?: Agent | false;
      readonly leaving?: AbortSignal;
    },
  ): Outgoing;
}

interface Modules {
  readonly http: HttpModule;
  readonly https: HttpModule;
}

interface NodeBuffer {
  concat(chunks: readonly Bytes[]): Bytes;
}

interface NodeProcess {
  readonly versions?: { readonly node?: string };
  getBuiltinModule?(name: string): unknown;
}

const surroundings = globalThis as unknown as {
  readonly process?: NodeProcess;
  /** Node always has it. */
  readonly Buffer: NodeBuffer;
  readonly Deno?: unknown;
  readonly Bun?: unknown;
  readonly navigator?: { readonly userAgent?: string };
};

/** The number of bytes of a body to read before a caller reads it. */
const READ_AHEAD_BYTES = 64 * 1024;
/** Statuses whose answers have no body (https://fetch.spec.whatwg.org/#null-body-status). */
const BODILESS = new Set([204, 205, 304]);

/** The timeout for a proxy to open a connection to the service. */
const PROXY_TIMEOUT_MS = 30_000;

const fetchAtLoad = globalThis.fetch;

/**
 * Node's own HTTP client; `null` on other runtimes. It takes a fifth of the time of Node's `fetch` and has no timeouts of its own: `fetch` fails
 * when an answer does not begin within five minutes, or pauses for that long, whatever `timeout` is.
 */
export function nodeHttp(): Send | null {
  const { process, Deno, Bun, navigator } = surroundings;
  // The `node:http` of Cloudflare's workers is made of their `fetch`, and its answers lack the list of headers.
  const isNode = process?.versions?.node && !Deno && !Bun && navigator?.userAgent !== "Cloudflare-Workers";
  if (!isNode) return null;
  const http = process.getBuiltinModule?.("node:http") as HttpModule | undefined;
  const https = process.getBuiltinModule?.("node:https") as HttpModule | undefined;
  if (http === undefined || https === undefined) return null;
  const modules = { http, https };
  const open = opener(modules, proxiesOfEnvironment());
  return (request, signal) => send(open(request, signal), request.url, signal, request.body);
}

/** Opens requests to the service, or to the proxies that lead to it. */
function opener(
  modules: Modules,
  findProxy: FindProxy | null,
): (request: WireRequest, leaving: AbortSignal) => Outgoing {
  const tunnels = new Map<string, Agent>();
  return ({ url, method, headers: given }, leaving) => {
    // Node's client does not decompress answers, so it asks for none that are compressed, whatever the caller's headers say.
    const headers = { ...given, "accept-encoding": "identity" };
    const target = new URL(url);
    const module = moduleFor(modules, target);
    const proxy = findProxy === null ? null : findProxy(target);
    if (proxy === null) return module.request(target, { method, headers });
    if (target.protocol === "https:") {
      const agent = tunnels.get(proxy.href) ?? tunnelThrough(modules, proxy);
      tunnels.set(proxy.href, agent);
      return module.request(target, { method, headers, agent, leaving });
    }
    const forProxy = { ...headers, host: target.host, ...proxyHeaders(proxy) };
    return moduleFor(modules, proxy).request(proxyAddress(proxy), { method, headers: forProxy, path: url });
  };
}

/** An agent whose TLS connections lead through a proxy (https://www.rfc-editor.org/rfc/rfc9110#name-connect). */
function tunnelThrough(modules: Modules, proxy: URL): Agent {
  const agent = new modules.https.Agent({ keepAlive: true });
  const secure = agent.createConnection.bind(agent);
  agent.createConnection = (options, done) => {
    const path = `${options.host.includes(":") ? `[${options.host}]` : options.host}:${options.port}`;
    const headers = { host: path, ...proxyHeaders(proxy) };
    const connecting = moduleFor(modules, proxy).request(proxyAddress(proxy), {
      method: "CONNECT",
      path,
      headers,
      agent: false,
    });
    connecting.setTimeout(PROXY_TIMEOUT_MS, () =>
      connecting.destroy(new Error(`The proxy ${proxy.host} opened no connection in time.`)),
    );
    // No other request uses the connection. Until it is open, it would keep the process alive.
    connecting.on(
      "close",
      onAbort(options.leaving, () => connecting.destroy()),
    );
    connecting.on("connect", ({ statusCode }, socket) => {
      if (statusCode === 200) done?.(null, secure({ ...options, socket: socket.setTimeout(0) }));
      else {
        socket.destroy();
        done?.(new Error(`The proxy ${proxy.host} refused to connect: status ${statusCode}.`));
      }
    });
    connecting.on("error", (error) => done?.(error));
    connecting.end();
    return undefined;
  };
  return agent;
}

function moduleFor({ http, https }: Modules, { protocol }: URL): HttpModule {
  return protocol === "https:" ? https : http;
}

/** Whether `fetch` was replaced or given a proxy. Requests must then use it. */
export function isFetchReplaced(): boolean {
  return globalThis.fetch !== fetchAtLoad || fetchAtLoad?.name !== "fetch" || hasForeignDispatcher();
}

/** The dispatchers that `fetch` has by default: an `Agent`, which older versions of undici wrap. */
const OWN_DISPATCHERS = new Set(["Agent", "Dispatcher1Wrapper"]);

/** Whether undici's `setGlobalDispatcher` was called with another dispatcher. */
function hasForeignDispatcher(): boolean {
  const known = globalThis as unknown as Readonly<Record<symbol, object | undefined>>;
  return [1, 2].some((version) => {
    const dispatcher = known[Symbol.for(`undici.globalDispatcher.${version}`)];
    return dispatcher !== undefined && !OWN_DISPATCHERS.has(dispatcher.constructor.name);
  });
}

function send(
  outgoing: Outgoing,
  url: string,
  signal: AbortSignal,
  body: string | null,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    let release = () => {};
    const fail = (error: Error) => {
      release();
      reject(error);
    };
    release = onAbort(signal, () => {
      const error = new Error("the request was aborted");
      outgoing.destroy(error);
      // A destroyed request has no event before it has a connection, which a proxy may take its time to open.
      if (!isAnswered) fail(error);
    });
    outgoing.on("socket", handleErrors);
    outgoing.on("response", (incoming) => {
      isAnswered = true;
      incoming.on("close", release);
      resolve(new NodeAnswer(url, incoming));
    });
    outgoing.on("error", fail);
    // An answer that switches protocols ends the connection without another event.
    outgoing.on("close", () => {
      if (!isAnswered) fail(new Error("the connection was closed without an answer"));
    });
    outgoing.end(body ?? undefined);
  });
}

/**
 * Keeps a listener for errors on a connection. Node removes its own too early if the service has answered before it had the whole body, and then
 * closes the connection: the error of writing the rest would end the process. A request that has no answer gets the error from Node.
 */
function handleErrors(socket: Socket): void {
  // A connection that is kept alive has it already.
  socket.removeListener("error", ignore).on("error", ignore);
}

function ignore(): void {}

class NodeAnswer implements WireAnswer {
  readonly status: number;
  readonly #url: string;
  readonly #incoming: Incoming;
  #headers: Headers | null = null;
  #response: Response | null = null;
  #text: string | null = null;
  /** What arrived before a reader came. */
  #ahead: Bytes[] = [];
  #aheadBytes = 0;
  /** Takes what arrives; `null` before a reader came. */
  #each: ((chunk: Bytes) => void) | null = null;
  /** Resolves at the body's end; rejects when the body ends early. */
  readonly #end: Promise<void>;

  constructor(url: string, incoming: Incoming) {
    this.status = incoming.statusCode ?? 0;
    this.#url = url;
    this.#incoming = incoming;
    // The connection of a short answer that no caller reads becomes free, and does not keep the process alive.
    incoming.on("data", (chunk) => {
      if (this.#each === null) this.#readAhead(chunk);
      else this.#each(chunk);
    });
    this.#end = endOf(incoming);
    // Without a reader, the error would be an unhandled rejection.
    this.#end.catch(() => {});
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  header(name: string): string | null {
    const value = this.#incoming.headers[name];
    return typeof value === "string" ? value : (value?.join(", ") ?? null);
  }

  get headers(): Headers {
    this.#headers ??= headersOf(this.#incoming.rawHeaders);
    return this.#headers;
  }

  get body(): Response["body"] {
    return this.toResponse().body;
  }

  async text(maxBytes = Number.POSITIVE_INFINITY): Promise<string> {
    const chunks: Bytes[] = [];
    let leftBytes = maxBytes;
    await this.#received((chunk) => {
      leftBytes -= chunk.length;
      if (leftBytes < 0) this.discard();
      else chunks.push(chunk);
    });
    this.#text = new TextDecoder().decode(surroundings.Buffer.concat(chunks));
    return this.#text;
  }

  discard(): void {
    this.#incoming.destroy();
  }

  /** Always the same one, as its body can be read only once. */
  toResponse(): Response {
    this.#response ??= this.#newResponse();
    return this.#response;
  }

  #newResponse(): Response {
    const { status, headers } = this;
    const isBodiless = BODILESS.has(status);
    if (isBodiless) this.discard();
    const body = isBodiless ? null : (this.#text ?? this.#streamed());
    // Node accepts control characters, a Response does not.
    const statusText = this.#incoming.statusMessage?.replaceAll(/[^\t -~\x80-\xff]/g, "") ?? "";
    const response = new Response(body, { status, statusText, headers });
    return Object.defineProperty(response, "url", { value: this.#url });
  }

  #streamed(): ReadableStream<Bytes> {
    const incoming = this.#incoming;
    let isOver = false;
    return new ReadableStream<Bytes>(
      {
        start: (controller) => {
          const over = (end: () => void) => {
            if (isOver) return;
            isOver = true;
            end();
          };
          this.#received((chunk) => {
            if (isOver) return;
            controller.enqueue(chunk);
            if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
          }).then(
            () => over(() => controller.close()),
            (error: unknown) => over(() => controller.error(error)),
          );
        },
        pull: () => {
          incoming.resume();
        },
        cancel: () => {
          isOver = true;
          incoming.destroy();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: READ_AHEAD_BYTES }),
    );
  }

  #readAhead(chunk: Bytes): void {
    this.#ahead.push(chunk);
    this.#aheadBytes += chunk.length;
    if (this.#aheadBytes >= READ_AHEAD_BYTES) this.#incoming.pause();
  }

  /** Resolves at the body's end; rejects when the body ends early. */
  #received(each: (chunk: Bytes) => void): Promise<void> {
    this.#each = each;
    // The reader may pause it again.
    this.#incoming.resume();
    for (const chunk of this.#ahead) each(chunk);
    this.#ahead = [];
    return this.#end;
  }
}

function endOf(incoming: Incoming): Promise<void> {
  return new Promise((resolve, reject) => {
    let reason = new Error("the connection broke");
    // Without a listener, the error would end the process.
    incoming.on("error", (error) => {
      reason = error;
    });
    incoming.on("end", resolve);
    incoming.on("close", () => reject(reason));
  });
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let index = 0; index < raw.length; index += 2) headers.append(raw[index] ?? "", raw[index + 1] ?? "");
  return headers;
}
