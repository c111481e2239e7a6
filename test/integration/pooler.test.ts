import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { requireUsableDatabase } from "../../server/src/start/database-check.ts";
import { runToExit } from "../fixtures/service.ts";
import { startTransactionPooler } from "../fixtures/transaction-pooler.ts";

const DATABASE_SERVER = process.env.OSTIARY_TEST_DATABASE_URL;

/** The user is signed in, and the server waits for a statement. */
const GREETING = Buffer.from("R\0\0\0\u0008\0\0\0\0Z\0\0\0\u0005I", "latin1");

/** A server that refuses each connection with this error. */
async function startRefusing(error: string) {
  const fields = `SFATAL\0VFATAL\0C08P01\0M${error}\0\0`;
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.end(Buffer.concat([head, Buffer.from(fields)])));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `postgres://me:hunter2@127.0.0.1:${(server.address() as AddressInfo).port}/x`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

describe("a service behind a connection pooler", () => {
  it.skipIf(DATABASE_SERVER === undefined)(
    "does not start if its connections share sessions, and says what to set",
    async () => {
      await using pooler = await startTransactionPooler(DATABASE_SERVER ?? "");
      const refused = await runToExit({ databaseUrl: pooler.url });
      expect(refused.code).toBe(1);
      expect(refused.reasons).toEqual([expect.stringMatching(/^DATABASE_URL .*pool_mode = session/)]);
    },
  );

  it.each([
    ["unsupported startup parameter: statement_timeout", "ignore_startup_parameters"],
    [
      'no pg_hba.conf entry for host "127.0.0.1", user "me", database "x", no encryption',
      "sslmode=verify-full",
    ],
    ['unrecognized configuration parameter "channel_binding"', "Remove the parameter"],
  ])("says what to do about: %s", async (error, hint) => {
    await using server = await startRefusing(error);
    const { code, reasons } = await runToExit({ env: { DATABASE_URL: server.url } });
    expect(code).toBe(1);
    expect(reasons).toEqual([expect.stringContaining(hint)]);
    expect(reasons[0]).toContain(error);
  });

  it.each([
    ['no pg_hba.conf entry for host "127.0.0.1", user "me", database "x", SSL encryption', "pg_hba.conf"],
    ["sorry, too many clients already", "Raise the limit"],
    ["remaining connection slots are reserved for roles with the SUPERUSER attribute", "Raise the limit"],
    ['permission denied for database "x"', "GRANT CONNECT"],
  ])("has what to do in the reason not to start: %s", async (error, hint) => {
    await using server = await startRefusing(error);
    const check = requireUsableDatabase({ url: server.url }, "a server", { isOnlyRead: false });
    await expect(check).rejects.toThrow(`Cannot use the database of DATABASE_URL (a server): ${error}. `);
    await expect(check).rejects.toThrow(hint);
  });

  it("says what to do if the connection is closed without a reason, as in statement mode", async () => {
    const server = createServer((socket) => {
      socket
        .on("error", () => {})
        .once("data", () => socket.once("data", () => socket.end()).write(GREETING));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const check = requireUsableDatabase({ url: `postgres://127.0.0.1:${port}/x` }, "a server", {
      isOnlyRead: false,
    });
    await expect(check).rejects.toThrow("pool_mode = session");
    server.close();
  });

  it("says what to do if the server does not speak TLS", async () => {
    const server = createServer((socket) => {
      // What follows the answer is the beginning of TLS.
      socket.on("error", () => {}).once("data", () => socket.once("data", () => socket.end()).write("N"));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const url = `postgres://127.0.0.1:${port}/x?sslmode=require`;
    const check = requireUsableDatabase({ url }, "a server", { isOnlyRead: false });
    await expect(check).rejects.toThrow("If the server does not speak TLS");
    server.close();
  });
});
