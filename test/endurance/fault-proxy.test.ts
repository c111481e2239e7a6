import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type FaultProxy, openFaultProxy } from "../fixtures/fault-proxy.ts";
import { postgresStatements } from "../fixtures/postgres-statements.ts";

const DATABASE_SERVER = process.env.OSTIARY_TEST_DATABASE_URL;

/** A server that answers each line with `done` and the line. */
interface EchoServer extends AsyncDisposable {
  readonly port: number;
  /** The lines that it got, of all connections. */
  readonly done: string[];
  readonly sockets: Set<Socket>;
}

async function startEcho(): Promise<EchoServer> {
  const done: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    let rest = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        done.push(line);
        socket.write(`done ${line}\n`);
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    done,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

interface Client {
  readonly socket: Socket;
  say(line: string): void;
  /** The answers so far. */
  heard(): string;
}

async function talkTo(port: number): Promise<Client> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let heard = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    heard += text;
  });
  await once(socket, "connect");
  return { socket, say: (line) => void socket.write(`${line}\n`), heard: () => heard };
}

/** Unlike `once`, resolves also when the socket ends with an error. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}

let echo: EchoServer;
let proxy: FaultProxy;

beforeAll(async () => {
  echo = await startEcho();
});

beforeEach(async () => {
  echo.done.length = 0;
  proxy = await openFaultProxy(echo.port);
});

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
});

afterAll(async () => {
  await echo[Symbol.asyncDispose]();
});

const soon = { interval: 5 };

/** An exchange without the proxy. What the proxy delivers at once has arrived after it. */
async function pastTheProxy(): Promise<void> {
  const direct = await talkTo(echo.port);
  direct.say("direct");
  await expect.poll(direct.heard, soon).toBe("done direct\n");
  direct.socket.destroy();
}

/** A client that has had one answer. */
async function connected(): Promise<Client> {
  const client = await talkTo(proxy.port);
  client.say("hello");
  await expect.poll(client.heard, soon).toBe("done hello\n");
  return client;
}

describe("a fault proxy", () => {
  it("passes on bytes in both directions, and the ends of connections", async () => {
    const client = await connected();
    client.socket.end();
    await closed(client.socket);
    await expect.poll(() => proxy.connections, soon).toBe(0);
    await expect.poll(() => echo.sockets.size, soon).toBe(0);
  });

  it("cuts open connections, new ones, or both", async () => {
    const first = await connected();
    proxy.cut({ connections: "existing" });
    await closed(first.socket);
    const second = await connected();
    proxy.cut({ connections: "new" });
    const refused = await talkTo(proxy.port);
    await closed(refused.socket);
    second.say("still");
    await expect.poll(second.heard, soon).toContain("done still");
    proxy.cut();
    await closed(second.socket);
    proxy.heal();
    await connected();
  });

  it("delivers stalled bytes and ends of connections when it is healed", async () => {
    const client = await connected();
    proxy.stall({ direction: "to client" });
    client.say("answered later");
    await expect.poll(() => echo.done, soon).toContain("answered later");
    proxy.stall({ direction: "to server" });
    client.say("asked later");
    client.socket.end();
    const other = await talkTo(proxy.port);
    other.say("from another");
    await pastTheProxy();
    expect(echo.done.filter((line) => line !== "direct")).toEqual(["hello", "answered later"]);
    expect(client.heard()).toBe("done hello\n");
    proxy.heal();
    await closed(client.socket);
    expect(client.heard()).toBe("done hello\ndone answered later\ndone asked later\n");
    await expect.poll(other.heard, soon).toBe("done from another\n");
  });

  it("stalls open connections while new ones work", async () => {
    const before = await connected();
    proxy.stall({ connections: "existing" });
    before.say("stalled");
    await connected();
    await pastTheProxy();
    expect(echo.done).not.toContain("stalled");
    proxy.heal();
    await expect.poll(before.heard, soon).toContain("done stalled");
  });

  it("delays each direction by itself", async () => {
    const client = await connected();
    proxy.delay(150, { direction: "to server" });
    client.say("one");
    client.say("two");
    const other = await talkTo(echo.port);
    other.say("at once");
    await expect.poll(() => echo.done, soon).toEqual(["hello", "at once", "one", "two"]);
    await expect.poll(client.heard, soon).toContain("done two");
    other.socket.destroy();
  });

  it("drops everything in a black hole without closing the connection, and resets it when it is healed", async () => {
    const before = await connected();
    proxy.blackHole({ connections: "existing" });
    before.say("lost");
    const after = await connected();
    await pastTheProxy();
    expect(echo.done).not.toContain("lost");
    expect(before.socket.destroyed).toBe(false);
    proxy.blackHole();
    const never = await talkTo(proxy.port);
    never.say("lost too");
    after.socket.end();
    proxy.heal();
    await closed(before.socket);
    await closed(never.socket);
    await connected();
    expect(echo.done.filter((line) => line.startsWith("lost"))).toEqual([]);
  });

  it("drops only what the server answers", async () => {
    const client = await connected();
    proxy.blackHole({ direction: "to client", connections: "existing" });
    client.say("done and not told");
    await expect.poll(() => echo.done, soon).toContain("done and not told");
    await connected();
    await pastTheProxy();
    expect(client.heard()).toBe("done hello\n");
  });

  it("loses as many answers as it was told to, each with its connection", async () => {
    const lost = proxy.loseAnswers(2, (line) => line.includes("commit"));
    for (const count of [1, 2]) {
      const client = await connected();
      client.say("commit");
      await closed(client.socket);
      expect(client.heard()).toBe("done hello\n");
      expect(lost.lost).toBe(count);
    }
    expect(echo.done.filter((line) => line === "commit")).toHaveLength(2);
    const client = await connected();
    client.say("commit");
    await expect.poll(client.heard, soon).toContain("done commit");
  });

  it("holds one statement, and what its connection sends after it, until it is released", async () => {
    const [held, other] = [await connected(), await connected()];
    const hold = proxy.hold((line, connection) => line.includes("update") && connection === 1);
    other.say("update");
    held.say("select");
    await expect.poll(held.heard, soon).toContain("done select");
    held.say("update");
    await hold.caught;
    held.socket.end();
    other.say("later");
    await expect.poll(other.heard, soon).toContain("done later");
    expect(echo.done.filter((line) => line === "update")).toHaveLength(1);
    hold.release();
    await closed(held.socket);
    expect(held.heard()).toContain("done update");
  });

  it("rejects when no statement came that matched", async () => {
    const hold = proxy.hold(() => false);
    hold.release();
    await expect(hold.caught).rejects.toThrow("no statement matched");
    const other = proxy.hold(() => false);
    proxy.heal();
    await expect(other.caught).rejects.toThrow("no statement matched");
  });

  it("makes senders wait when the receiver does not read, and loses nothing", async () => {
    // More than the kernel buffers for all sockets on the way.
    const size = 32 * 1024 * 1024;
    let arrived = 0;
    const sink = createServer((socket) => {
      socket.on("data", (bytes) => {
        arrived += bytes.length;
      });
      socket.on("end", () => socket.end());
    }).listen(0, "127.0.0.1");
    await once(sink, "listening");
    proxy.retarget((sink.address() as AddressInfo).port);
    const client = await talkTo(proxy.port);
    proxy.stall();
    let taken = 0;
    const chunk = Buffer.alloc(64 * 1024);
    for (let sent = 0; sent < size; sent += chunk.length) {
      client.socket.write(chunk, () => {
        taken += chunk.length;
      });
    }
    client.socket.end();
    // There is no event for a sender that has to wait: it is one whose writes no longer complete.
    const isStuck = async () => {
      const before = taken;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return taken === before;
    };
    await expect.poll(isStuck, soon).toBe(true);
    expect(taken).toBeLessThan(size);
    expect(arrived).toBe(0);
    proxy.heal();
    await closed(client.socket);
    expect(arrived).toBe(size);
    sink.close();
    await once(sink, "close");
  });

  it("sends new connections elsewhere", async () => {
    await using elsewhere = await startEcho();
    const before = await connected();
    proxy.retarget(elsewhere.port);
    await connected();
    expect(elsewhere.done).toEqual(["hello"]);
    before.say("here");
    await expect.poll(() => echo.done, soon).toEqual(["hello", "here"]);
  });
});

describe("the reader of PostgreSQL's protocol", () => {
  const message = (letter: string, body: string) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length + 4);
    return Buffer.concat([Buffer.from(letter), length, Buffer.from(body, "latin1")]);
  };

  it("finds each statement when it is executed, also by name, however its bytes are divided", () => {
    const bytes = Buffer.concat([
      message("", "\0\x03\0\0user\0ostiary\0\0"),
      message("P", "s1\0select $1\0\0\0"),
      message("B", "\0s1\0\0\0\0\x01\0\0\0\x03one\0\0"),
      message("E", "\0\0\0\0\0"),
      message("B", "\0s1\0\0\0\0\x01\0\0\0\x03two\0\0"),
      message("Q", "begin\0"),
    ]);
    for (const size of [1, 7, bytes.length]) {
      const read = postgresStatements();
      const found: string[] = [];
      for (let start = 0; start < bytes.length; start += size)
        found.push(...read(bytes.subarray(start, start + size)));
      expect(found.map((statement) => statement.split("\n")[0])).toEqual(["select $1", "select $1", "begin"]);
      expect(found[0]).toContain("one");
      expect(found[1]).toContain("two");
    }
  });

  it.skipIf(DATABASE_SERVER === undefined)(
    "executes a real client's statement after the client has gone",
    async () => {
      const url = new URL(DATABASE_SERVER ?? "");
      await using way = await openFaultProxy(Number(url.port), { readStatements: postgresStatements });
      const direct = postgres(url.href, { max: 1, onnotice: () => {} });
      const table = `late_${crypto.randomUUID().replaceAll("-", "")}`;
      await direct.unsafe(`create table ${table} (amount bigint)`);
      url.port = String(way.port);
      const sql = postgres(url.href, { max: 1, onnotice: () => {} });
      await sql`insert into ${sql(table)} values (${1})`;
      const hold = way.hold((statement) => statement.includes(table));
      const insert = sql`insert into ${sql(table)} values (${2})`.catch((error: unknown) => error);
      await hold.caught;
      await sql.end({ timeout: 0 });
      await insert;
      const count = async () => (await direct`select count(*)::int as rows from ${direct(table)}`)[0]?.rows;
      expect(await count()).toBe(1);
      hold.release();
      await expect.poll(count, soon).toBe(2);
      await direct.unsafe(`drop table ${table}`);
      await direct.end();
    },
  );
});
