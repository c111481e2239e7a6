import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { openRaw, type RawConnection } from "../fixtures/raw-http.ts";
import { statusOf } from "../fixtures/request.ts";
import { RUNTIME, type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const MAXIMUM = 64;
const STRANGER = "127.0.0.2";
const HEALTH = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
const CALL =
  "POST /trpc/keys.create HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n";
const REFUSED_CALL = "GET /trpc/service.info HTTP/1.1\r\nhost: x\r\n\r\n";
const TIMEOUT = { timeout: 20_000 };

/** Connections may stay open for an hour, so that none of these is closed because its time is over. */
const start = (maximum = MAXIMUM) =>
  startService({
    env: {
      OSTIARY_MAX_CONNECTIONS: String(maximum),
      OSTIARY_KEEP_ALIVE_S: "3600",
      OSTIARY_LOG: "silent",
    },
  });

/** As many connections as there may be, of a stranger who sends `begun` on each. */
function fillFrom(service: Service, begun: string): Promise<readonly RawConnection[]> {
  const opening = Array.from({ length: MAXIMUM }, async () => {
    const connection = await openRaw(service.baseUrl, STRANGER);
    connection.send(begun);
    return connection;
  });
  return Promise.all(opening);
}

/** The status that a client gets who connects now; `null`: its connection is closed. */
async function statusOnNewConnection({ baseUrl }: Service): Promise<number | null> {
  using connection = await openRaw(baseUrl);
  connection.send(HEALTH);
  return await connection.answer().then(
    ({ status }) => status,
    () => null,
  );
}

// Deno has limits of its own.
describe.runIf(RUNTIME === "node")("a stranger who opens all connections that there may be", () => {
  it.each([
    ["sends nothing", ""],
    ["does not end a request's head", "GET /v1/models HTTP/1.1\r\n"],
    ["asks for nothing more", HEALTH],
    ["calls procedures until each call waits to be refused", REFUSED_CALL.repeat(50)],
    ["does not send a body", CALL],
    ["does not send the body that is awaited", CALL.replace("host: x", "host: x\r\nexpect: 100-continue")],
  ])("and %s does not keep others out", async (_, begun) => {
    await using service = await start();
    const { key } = await signUpWithKey(service.baseUrl);
    const { headers } = await fetch(`${service.baseUrl}/v1/models`);
    expect(headers.get("keep-alive")).toBe("timeout=3600");
    const strangers = await fillFrom(service, begun);
    await expect.poll(() => statusOnNewConnection(service), TIMEOUT).toBe(200);
    await expect.poll(() => statusOf(service.baseUrl, key).catch(String), TIMEOUT).toBe(200);
    for (const stranger of strangers) stranger[Symbol.dispose]();
  });

  it("and does not read answers does not keep others out", async () => {
    const maximum = 16;
    await using service = await start(maximum);
    const { hostname, port } = new URL(service.baseUrl);
    // Answers of 5 MB: the system takes up to 4 MiB of each connection.
    const requests = "GET /docs/search.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(20);
    const strangers = Array.from({ length: maximum }, () => {
      const socket = connect({ host: hostname, port: Number(port), localAddress: STRANGER });
      socket.on("error", () => {}).pause();
      socket.write(requests);
      return socket;
    });
    await expect.poll(() => statusOnNewConnection(service), TIMEOUT).toBe(200);
    for (const stranger of strangers) stranger.destroy();
  });

  it("and asks for something again on each as soon as it is answered does not keep others out", async () => {
    await using service = await start();
    const stop = new AbortController();
    let onFull = () => {};
    const full = new Promise<void>((resolve) => {
      onFull = resolve;
    });
    const askAgain = async () => {
      while (!stop.signal.aborted) {
        using connection = await openRaw(service.baseUrl, STRANGER);
        while (!stop.signal.aborted && connection.isOpen) {
          connection.send(HEALTH);
          await connection.answer().catch(() => onFull());
        }
      }
    };
    const strangers = Array.from({ length: 2 * MAXIMUM }, askAgain);
    await full;
    await expect.poll(() => statusOnNewConnection(service), TIMEOUT).toBe(200);
    stop.abort();
    await Promise.all(strangers);
  });

  it("does not end the connections of others, idle or not, and no request", async () => {
    await using service = await start();
    const { key } = await signUpWithKey(service.baseUrl);
    using idle = await openRaw(service.baseUrl);
    idle.send(HEALTH);
    expect((await idle.answer()).status).toBe(200);
    using sending = await openRaw(service.baseUrl, STRANGER);
    const body = JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] });
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n`;
    sending.send(`${head}content-type: application/json\r\n\r\n{`);
    const strangers = await fillFrom(service, CALL);
    await expect.poll(() => statusOnNewConnection(service), TIMEOUT).toBe(200);
    expect(strangers.filter(({ isOpen }) => isOpen).length).toBeGreaterThan(MAXIMUM / 2);
    sending.send(body.slice(1));
    expect((await sending.answer()).status).toBe(200);
    idle.send(HEALTH);
    expect((await idle.answer()).status).toBe(200);
    for (const stranger of strangers) stranger[Symbol.dispose]();
  });
});
