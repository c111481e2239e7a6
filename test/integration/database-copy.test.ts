import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import type { DatabaseAddress } from "../../server/src/database/database.ts";
import { toFailure } from "../../server/src/errors/failure.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { backendOf, openAlone, openStatementDatabase, outcome } from "../fixtures/statement-database.ts";

const SHORT_MS = 2_000;
const LONG_MS = 60_000;

const database = sharedByFile(openStatementDatabase);

function open(at = database.address, statementTimeoutMs = SHORT_MS) {
  return openAlone(at, statementTimeoutMs);
}

describe("copied lines", () => {
  const TEXTS = ["", "a\\tb", "\\N", "Ünïcödé 🚀", "x".repeat(3_000_000)];

  it("become rows, and undo nothing else when the transaction goes on", async () => {
    await using sql = open(database.address, LONG_MS);
    await using table = await database.temporaryTable("text text");
    await sql.transaction("", async (transaction) => {
      await transaction.unsafe(`insert into ${table.name} values (0, 'before')`);
      await transaction.copy(`${table.name} (id, text)`, "1\ta\\tb\n2\t\\N\n");
      await transaction.copy(
        `${table.name} (text, id)`,
        TEXTS.map((text, id) => `${text}\t${id + 3}\n`).join(""),
      );
      await transaction.copy(`${table.name} (id, text)`, "");
    });
    const rows = await database.admin.unsafe(`select text from ${table.name} order by id`);
    expect(rows.map(({ text }) => text)).toEqual([
      "before",
      "a\tb",
      null,
      "",
      "a\tb",
      null,
      ...TEXTS.slice(3),
    ]);
  });

  it.each([
    ["the server refuses the last", "1\n2\n1\n", "23505"],
    ["the server refuses the first of very many", `x\n${"1\n".repeat(2_000_000)}`, "22P02"],
  ])("fail when %s, with its error, and the connection stays", async (_, lines, code) => {
    await using sql = open(database.address, LONG_MS);
    await using table = await database.temporaryTable();
    const pid = await backendOf(sql);
    const copy = sql.transaction("", async (transaction) => {
      await outcome(transaction.copy(table.name, lines));
      await outcome(transaction`select 1`);
    });
    expect(await outcome(copy)).toMatchObject({ code });
    await sql.transaction("", (transaction) => transaction.copy(table.name, "7\n"));
    expect(await sql.unsafe(`select id from ${table.name}`)).toEqual([{ id: 7 }]);
    expect(await backendOf(sql)).toBe(pid);
  });

  it("do not wait for the acknowledgement of what was sent before, as small packets may", async () => {
    await using sql = open(database.address, LONG_MS);
    await using table = await database.temporaryTable();
    const times = { copy: [] as number[], insert: [] as number[] };
    for (let id = 0; id < 60; id += 2) {
      for (const [at, way] of (["copy", "insert"] as const).entries()) {
        const sinceMs = performance.now();
        await sql.transaction("", async (transaction) => {
          if (way === "copy") await transaction.copy(table.name, `${id + at}\n`);
          else await transaction.unsafe(`insert into ${table.name} values (${id + at})`);
        });
        times[way].push(performance.now() - sinceMs);
      }
    }
    // A wait of 40 ms is some twenty times as long as the rest.
    const [copy = 0, insert = 0] = [times.copy, times.insert].map((all) => all.toSorted((a, b) => a - b)[15]);
    expect(copy / insert).toBeLessThan(5);
  });

  it("fail when there is no such table, and after the end of the transaction", async () => {
    await using sql = open();
    const copy = sql.transaction("", (transaction) => transaction.copy("nothing_of_that_name", "1\n"));
    expect(await outcome(copy)).toMatchObject({ code: "42P01" });
    const leaked = await sql.transaction("", async (transaction) => ({ transaction }));
    expect(await outcome(leaked.transaction.copy("nothing_of_that_name", "1\n"))).toBeInstanceOf(Error);
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  });

  it("fail when the connection is closed before them or in their middle, and when they take too long", async () => {
    await using sql = open();
    await using table = await database.temporaryTable();
    const ended = sql.transaction("", async (transaction) => {
      await database.endBackend(await backendOf(transaction));
      await transaction.copy(table.name, "1\n");
    });
    expect(toFailure(await outcome(ended)).status).toBe(503);
    // The copy of one row waits until the other transaction has ended.
    const held = async (meanwhile: (pid: number) => Promise<unknown>) =>
      database.admin.transaction("", async (holder) => {
        await holder.unsafe(`insert into ${table.name} values (1)`);
        return sql.transaction("", async (transaction) => {
          const pid = await backendOf(transaction);
          const copied = outcome(transaction.copy(table.name, "1\n"));
          await expect
            .poll(() => holder`select from pg_locks where not granted and pid = ${pid}`)
            .toHaveLength(1);
          await meanwhile(pid);
          throw await copied;
        });
      });
    const killed = await outcome(held(async (pid) => database.admin`select pg_terminate_backend(${pid})`));
    expect(toFailure(killed).status).toBe(503);
    expect(toFailure(await outcome(held(async () => {}))).status).toBe(503);
    expect(await sql.unsafe(`select id from ${table.name}`)).toEqual([]);
  });
});

/** A server whose answers to simple statements are made up: messages of PostgreSQL's protocol for each, by its first word. */
async function startMadeUp(
  answers: Readonly<Record<string, string>>,
): Promise<{ readonly address: DatabaseAddress } & AsyncDisposable> {
  const message = (kind: string, body: string) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    return `${kind}${length.toString("latin1")}${body}`;
  };
  const kinds: Readonly<Record<string, (text: string) => string>> = {
    COMPLETE: (text) => message("C", `${text}\0`),
    COPY_IN: () => message("G", "\0\0\0"),
    ERROR: (code) => message("E", `SERROR\0VERROR\0C${code}\0Mrefused\0\0`),
    READY: (state) => message("Z", state),
  };
  const written = (steps: string) =>
    steps
      .replaceAll(/(\w+)\((.*?)\)/g, (_, kind: string, text: string) => kinds[kind]?.(text) ?? "")
      .replaceAll(" ", "");
  const server = createServer((socket) => {
    let isStarted = false;
    socket
      .on("error", () => {})
      .on("data", (bytes) => {
        const text = bytes.toString("latin1");
        const word = /begin|copy|commit|rollback/.exec(text)?.[0];
        if (!isStarted) socket.write(`${message("R", "\0\0\0\0")}${message("Z", "I")}`, "latin1");
        else if (word !== undefined) socket.write(written(answers[word] ?? ""), "latin1");
        isStarted = true;
      });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: { url: `postgres://nobody@127.0.0.1:${port}/nothing` },
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}

const MADE_UP = {
  begin: "COMPLETE(BEGIN) READY(T)",
  commit: "COMPLETE(ROLLBACK) READY(I)",
  rollback: "COMPLETE(ROLLBACK) READY(I)",
};

describe("a transaction that the server has not committed", () => {
  it("fails when the server refuses lines before it has read one", async () => {
    await using server = await startMadeUp({ ...MADE_UP, copy: "COPY_IN() ERROR(57014) READY(E)" });
    await using sql = open(server.address);
    const copy = sql.transaction("", (transaction) => transaction.copy("anything", "1\n"));
    expect(await outcome(copy)).toMatchObject({ code: "57014" });
  });

  it("fails when the server rolls back at its end", async () => {
    await using server = await startMadeUp(MADE_UP);
    await using sql = open(server.address);
    expect(await outcome(sql.transaction("", async () => {}))).toMatchObject({
      message: expect.stringContaining("rolled back"),
    });
  });
});
