import { once } from "node:events";
import { request as ask } from "node:http";
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import type { Listener, Served } from "../../server/src/http/listener.ts";
import { serveOnNode } from "../../server/src/http/node.ts";
import type { TlsPair } from "../../server/src/http/tls-pair.ts";
import type { Exchange, RefusableExchange } from "../../server/src/request/exchange.ts";
import { Authority, hasOpenSsl } from "../fixtures/certificate.ts";

const BODY = '{"a":1}';
const HEADERS = [{ "content-type": "application/json" }, { "x-request-id": "req_1" }];
const REFUSAL = '{"error":"too many"}';

function post(more = "", body = BODY, path = "/v1/chat/completions"): string {
  return `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n${more}\r\n${body}`;
}

/** A service that is overloaded, refuses what it is told to, and answers the rest with the body that it gets. */
class Overloaded {
  isOverloaded = true;
  /** Which requests are refused. */
  refuses: (exchange: RefusableExchange) => boolean = () => true;
  /** How requests came: refused early, handed over as accepted, or handed over. */
  readonly ways: string[] = [];
  /** What the answers of requests that are handed over wait for. */
  answer: Promise<void> = Promise.resolve();
  listener: Listener | null = null;

  readonly served: Served = {
    requests: this.#requests(),
    web: async () => new Response("page"),
    newRequestId: () => "req_1",
  };

  #requests(): NonNullable<Served["requests"]> {
    const isOverloaded = () => this.isOverloaded;
    return {
      get isOverloaded() {
        return isOverloaded();
      },
      readableInTurn: () => 128,
      lacksVersion: () => false,
      refuseIfOverloaded: (exchange) => {
        if (!this.refuses(exchange)) return false;
        this.ways.push("early");
        exchange.letOthersGoFirst();
        exchange.respond(503, HEADERS, REFUSAL);
        return true;
      },
      handle: (exchange) => this.#handle(exchange),
      handleAccepted: (exchange) => this.#answer(exchange, "accepted"),
    };
  }

  async #handle(exchange: Exchange): Promise<void> {
    if (!this.isOverloaded || !this.refuses(exchange)) return this.#answer(exchange, "handed over");
    this.ways.push("handed over");
    exchange.respond(503, HEADERS, REFUSAL);
  }

  async #answer(exchange: Exchange, way: "accepted" | "handed over"): Promise<void> {
    this.ways.push(way);
    let text = "";
    const received = new Promise<void>((resolve) => {
      const body = {
        isOver: false,
        add: (piece: Uint8Array) => {
          text += Buffer.from(piece).toString();
        },
        end: () => resolve(),
        abort: () => resolve(),
      };
      exchange.receive(body as unknown as Parameters<Exchange["receive"]>[0]);
    });
    await Promise.all([received, this.answer]);
    exchange.respond(200, HEADERS, text);
  }

  async open(tls: TlsPair | null = null): Promise<Listener> {
    const options = {
      host: "127.0.0.1",
      port: 0,
      maxConnections: 1_000,
      keepAliveS: 65,
      maxUnreadBytes: 1e8,
      tls,
      sharesPort: false,
    };
    this.listener = await serveOnNode(this.served, options);
    return this.listener;
  }
}

let opened: Overloaded[] = [];
afterEach(async () => {
  await Promise.all(opened.map(({ listener }) => listener?.close(Promise.resolve())));
  opened = [];
});

async function overloaded(tls: TlsPair | null = null) {
  const service = new Overloaded();
  opened.push(service);
  const { port } = await service.open(tls);
  return { service, port };
}

/** A client's end of a connection. */
class Client {
  readonly socket: Socket;
  text = "";

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("latin1").on("data", (part: string) => {
      this.text += part;
    });
    socket.on("error", () => {});
  }

  /** The statuses of the answers so far. */
  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  }
}

async function clientOf(port: number): Promise<Client> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  return new Client(socket);
}

describe("an overloaded service on Node", () => {
  it("refuses a request when its head has arrived, with the answer that Node would send", async () => {
    const { service, port } = await overloaded();
    const client = await clientOf(port);
    client.socket.write(post().slice(0, -BODY.length));
    await expect.poll(() => client.statuses).toEqual([503]);
    const early = client.text;
    client.text = "";
    client.socket.write(BODY);
    // A body in chunks has no known length: Node hands the request over.
    client.socket.write(
      "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    );
    await expect.poll(() => client.statuses).toEqual([503]);
    expect(service.ways).toEqual(["early", "handed over"]);
    const undated = (text: string) => text.replace(/^Date: .*$/m, "Date:");
    expect(undated(early)).toBe(undated(client.text));
    client.socket.destroy();
  });

  it("reads on after the body of a refused request, in whatever pieces it comes", async () => {
    const { service, port } = await overloaded();
    service.refuses = ({ path }) => path.endsWith("refused");
    const client = await clientOf(port);
    const bytes = [
      post("", BODY, "/v1/refused"),
      post(),
      post("", "x".repeat(100_000), "/v1/refused"),
      post(),
    ];
    const all = bytes.join("");
    for (let start = 0; start < all.length; start += 777) {
      client.socket.write(all.slice(start, start + 777));
      if (start % 7 === 0) await new Promise(setImmediate);
    }
    await expect.poll(() => client.statuses, { timeout: 10_000 }).toEqual([503, 200, 503, 200]);
    expect(client.text.split(BODY)).toHaveLength(3);
    expect(service.ways[0]).toBe("early");
    client.socket.destroy();
  });

  it("answers requests of a connection in their order", async () => {
    const { service, port } = await overloaded();
    service.refuses = ({ path }) => path.endsWith("refused");
    let answer: () => void = () => {};
    service.answer = new Promise((resolve) => {
      answer = resolve;
    });
    const client = await clientOf(port);
    client.socket.write(post() + post("", BODY, "/v1/refused") + post());
    await expect.poll(() => service.ways.length).toBe(1);
    expect(client.text).toBe("");
    answer();
    await expect.poll(() => client.statuses).toEqual([200, 503, 200]);
    // The second could not be answered when its head came, and waited for its turn.
    expect(service.ways[1]).toBe("handed over");
    client.socket.destroy();
  });

  const others: Readonly<Record<string, string>> = {
    "another method": "GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n",
    "a body of unknown length":
      "POST /v1/x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a long body": `POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: ${2 ** 21}\r\n\r\n`,
    "a connection that is to be closed": post("connection: close\r\n"),
    "HTTP/1.0": post().replace("HTTP/1.1", "HTTP/1.0"),
    "an upgrade": post("connection: upgrade\r\nupgrade: websocket\r\n"),
    "the whole address as its target": post("", BODY, "http://a/v1/x"),
    "more headers than the parser hands over at once": post(
      Array.from({ length: 40 }, (_, index) => `x-${index}: 1\r\n`).join(""),
    ),
  };
  for (const [name, bytes] of Object.entries(others)) {
    it(`leaves a request with ${name} to Node`, async () => {
      const { service, port } = await overloaded();
      const client = await clientOf(port);
      client.socket.write(bytes);
      await expect.poll(() => client.statuses).toEqual([503]);
      expect(service.ways).toEqual(["handed over"]);
      client.socket.destroy();
    });
  }

  it("refuses invalid requests with the same errors as otherwise", async () => {
    const { service, port } = await overloaded();
    for (const bytes of [
      post().replace("host: a\r\n", ""),
      post("content-length: 1\r\n"),
      post("transfer-encoding: chunked\r\n"),
      post("bad header\r\n"),
    ]) {
      const client = await clientOf(port);
      client.socket.write(bytes);
      await expect.poll(() => client.statuses).toEqual([400]);
      client.socket.destroy();
    }
    expect(service.ways).toEqual([]);
  });

  it("hands over everything when it is not overloaded, and pages always", async () => {
    const { service, port } = await overloaded();
    const client = await clientOf(port);
    client.socket.write(post("", BODY, "/page"));
    await expect.poll(() => client.statuses).toEqual([200]);
    service.isOverloaded = false;
    client.socket.write(post());
    await expect.poll(() => client.statuses).toEqual([200, 200]);
    expect(service.ways).toEqual(["handed over"]);
    client.socket.destroy();
  });

  it("asks to close connections when it is about to stop", async () => {
    const { service, port } = await overloaded();
    const client = await clientOf(port);
    service.listener?.retire();
    client.socket.write(post());
    await expect.poll(() => client.statuses).toEqual([503]);
    expect(client.text).toMatch(/^connection: close\r$/im);
    expect(service.ways).toEqual(["handed over"]);
  });

  it("refuses hundreds of clients that ask again at once, and takes each of their requests for one", async () => {
    const { service, port } = await overloaded();
    const clients = await Promise.all(Array.from({ length: 300 }, () => clientOf(port)));
    for (const { socket } of clients) {
      let more = 9;
      socket.on("data", () => more-- > 0 && socket.write(post()));
      socket.write(post());
    }
    await expect.poll(() => service.ways.length, { timeout: 20_000 }).toBe(3_000);
    await expect.poll(() => clients.every(({ statuses }) => statuses.length === 10)).toBe(true);
    for (const { socket } of clients) socket.destroy();
  });

  it("does not disturb the process's own requests, whose parsers it shares", async () => {
    const { service, port } = await overloaded();
    for (let round = 0; round < 3; round++) {
      const client = await clientOf(port);
      client.socket.write(post());
      await expect.poll(() => client.statuses).toEqual([503]);
      client.socket.destroy();
      await once(client.socket, "close");
      const sent = ask({ host: "127.0.0.1", port, method: "GET", path: "/page", agent: false }).end();
      const [response] = await once(sent, "response");
      expect(response.statusCode).toBe(200);
      expect(await response.toArray().then((parts: Buffer[]) => Buffer.concat(parts).toString())).toBe(
        "page",
      );
    }
    expect(service.ways).toEqual(["early", "early", "early"]);
  });

  it.skipIf(!hasOpenSsl)("does the same on a connection with TLS", async () => {
    using authority = new Authority();
    const { service, port } = await overloaded({
      ...authority.sign(),
      validFrom: new Date(),
      expiresAt: new Date(),
    });
    service.refuses = ({ path }) => path.endsWith("refused");
    const socket = connectSecurely({ port, host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const client = new Client(socket);
    socket.write(post("", BODY, "/v1/refused"));
    await expect.poll(() => client.statuses).toEqual([503]);
    socket.write(post());
    await expect.poll(() => client.statuses).toEqual([503, 200]);
    expect(service.ways).toEqual(["early", "accepted"]);
    socket.destroy();
  });
});
