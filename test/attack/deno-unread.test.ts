import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Authority, hasOpenSsl } from "../fixtures/certificate.ts";
import { commandOf, type Service, startService } from "../fixtures/service.ts";

// What strangers can make Deno keep by not reading the files of the dashboard, of which HTTP/2 lets them request many on one connection.

const MIB = 1024 * 1024;
/** More than 100 KB. */
const FILE = "/THIRD-PARTY-NOTICES.txt";
const STREAMS = 100;

let authority: Authority;
let service: Service;
let folder: string;

beforeAll(async () => {
  if (!hasOpenSsl) return;
  authority = new Authority();
  const { cert, key } = authority.sign();
  folder = await mkdtemp(join(tmpdir(), "ostiary-unread-"));
  const files = { TLS_CERT_FILE: join(folder, "tls.crt"), TLS_KEY_FILE: join(folder, "tls.key") };
  await writeFile(files.TLS_CERT_FILE, cert);
  await writeFile(files.TLS_KEY_FILE, key);
  // Half of the bytes of bodies may be those of unread answers: 16 MiB.
  const limits = {
    OSTIARY_MAX_BODY_BYTES: String(8 * MIB),
    OSTIARY_MAX_UNFINISHED_BODY_BYTES: String(32 * MIB),
  };
  service = await startService({
    command: commandOf("deno"),
    env: { ...files, ...limits, OSTIARY_LOG: "silent" },
  });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  authority?.[Symbol.dispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** A connection from an address. `window`: the bytes that it takes of each answer. */
async function openSession(localAddress: string, window: number): Promise<ClientHttp2Session & Disposable> {
  const { hostname, port } = new URL(service.baseUrl);
  // The types of `connect` lack the option for a client's own address, which it passes on.
  const address = { host: hostname, port: Number(port), localAddress };
  const session = connectHttp2(service.baseUrl, {
    settings: { initialWindowSize: window },
    createConnection: () => connectTls({ ...address, ca: authority.pem, ALPNProtocols: ["h2"] }),
  });
  session.on("error", () => {});
  await once(session, "remoteSettings");
  return Object.assign(session, { [Symbol.dispose]: () => session.destroy() });
}

/** The status of an answer, whose body is not read. */
async function statusOn(session: ClientHttp2Session): Promise<unknown> {
  const stream = session.request({ ":path": FILE }).on("error", () => {});
  const [head] = await once(stream.end(), "response");
  return head[":status"];
}

/** The length of an answer that is read. */
async function lengthOn(session: ClientHttp2Session): Promise<number> {
  const stream = session.request({ ":path": FILE });
  const announced = once(stream.end(), "response");
  let length = 0;
  for await (const piece of stream) length += piece.length;
  const [head] = await announced;
  expect(head[":status"]).toBe(200);
  expect(head["content-length"]).toBe(String(length));
  return length;
}

describe.skipIf(!hasOpenSsl)("files that are not read, on Deno", () => {
  it("are refused to the address that leaves very many unread, and served to others", async () => {
    const unread = [];
    const statuses: unknown[] = [];
    for (let connection = 0; connection < 3; connection++) {
      const session = await openSession("127.0.0.1", 0);
      unread.push(session);
      const all = Array.from({ length: STREAMS }, () => statusOn(session));
      statuses.push(...(await Promise.all(all)));
    }
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    // What the runtime has got of each is 128 KiB at most.
    expect(statuses.filter((status) => status === 200)).toHaveLength((16 * MIB) / (128 * 1024));
    using other = await openSession("127.0.0.2", 65_535);
    expect(await lengthOn(other)).toBeGreaterThan(100_000);
    for (const session of unread) session.destroy();
    using again = await openSession("127.0.0.1", 65_535);
    await expect.poll(() => statusOn(again), { timeout: 30_000 }).toBe(200);
    expect(await lengthOn(again)).toBeGreaterThan(100_000);
  });
});
