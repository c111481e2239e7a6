import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import type { DatabaseAddress } from "../../server/src/database/database.ts";
import { insertInHalves } from "../../server/src/database/insert-all.ts";
import { migrate } from "../../server/src/database/migrate.ts";
import { toFailure, Unavailable } from "../../server/src/errors/failure.ts";
import { complaintAbout } from "../../server/src/start/readiness.ts";
import { MIGRATIONS } from "../fixtures/migrations.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { backendOf, openAlone, openStatementDatabase, outcome } from "../fixtures/statement-database.ts";

const SHORT_MS = 2_000;
const LONG_MS = 60_000;

const database = sharedByFile(openStatementDatabase);

function open(at = database.address, statementTimeoutMs = SHORT_MS) {
  return openAlone(at, statementTimeoutMs);
}

/** What survives two of these is moved to the old generation, which only a major collection frees. */
function minorCollection(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { readonly type: "minor" }) => void;
  return () => collect({ type: "minor" });
}

function oldGenerationBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name: name }) => name === "old_space");
  return old?.space_used_size ?? Number.NaN;
}

/** The address with another user or database. */
function atOther(
  address: DatabaseAddress,
  others: { readonly user?: string; readonly database?: string },
): DatabaseAddress {
  if (!("url" in address)) return { ...address, ...others };
  const url = new URL(address.url);
  url.username = others.user ?? url.username;
  url.pathname = others.database ?? url.pathname;
  return { url: url.href };
}

/** A server that takes connections and says nothing. */
async function startMute(): Promise<
  { readonly address: DatabaseAddress; readonly closed: Promise<unknown> } & AsyncDisposable
> {
  const sockets: Socket[] = [];
  let isClosed: (value: unknown) => void = () => {};
  const closed = new Promise((resolve) => {
    isClosed = resolve;
  });
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {}).on("close", isClosed);
    socket.resume();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: { url: `postgres://nobody@127.0.0.1:${port}/nothing` },
    closed,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

describe("a database statement", () => {
  it("that takes too long is cancelled on the server, and answered 503", async () => {
    await using sql = open();
    const error = await outcome(sql`select pg_sleep(3600)`);
    expect(toFailure(error).status).toBe(503);
    await expect
      .poll(
        () => database.admin`select from pg_stat_activity where query like '%pg_sleep(3600)%' and state = 'active'
                        and pid <> pg_backend_pid()`,
      )
      .toHaveLength(0);
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  });

  it("may have a longer timeout, which does not apply to the next one", async () => {
    await using sql = open();
    const long = sql.withTimeout(LONG_MS);
    expect(await long`select 1 as one, pg_sleep(${(SHORT_MS / 1_000) * 1.5})`).toMatchObject([{ one: 1 }]);
    expect(await long`show statement_timeout`).toEqual([{ statement_timeout: "59s" }]);
    expect(await sql`show statement_timeout`).toEqual([{ statement_timeout: "1600ms" }]);
    const shown = await long.transaction("read only", (transaction) => transaction`show statement_timeout`);
    expect(shown).toEqual([{ statement_timeout: "59s" }]);
    expect(await sql`show statement_timeout`).toEqual([{ statement_timeout: "1600ms" }]);
  });

  it("waits for a connection no longer than its timeout, and is not sent later", async () => {
    await using sql = open(database.address, 500);
    const name = `late_${crypto.randomUUID().replaceAll("-", "")}`;
    await sql.transaction("", async (transaction) => {
      await transaction`select 1`;
      expect(await outcome(sql.unsafe(`create table ${name} ()`))).toBeInstanceOf(Unavailable);
      expect(await outcome(sql.transaction("", async () => {}))).toBeInstanceOf(Unavailable);
    });
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    expect(await database.admin`select from pg_class where relname = ${name}`).toHaveLength(0);
  });

  it("fails when the server does not answer, and its connection is closed", async () => {
    await using mute = await startMute();
    await using sql = open(mute.address, 500);
    expect(await outcome(sql`select 1`)).toBeInstanceOf(Unavailable);
    await mute.closed;
    expect(await outcome(sql.transaction("", async () => {}))).toBeInstanceOf(Unavailable);
    expect(await outcome(sql.withTimeout(LONG_MS)`select 1`)).toBeInstanceOf(Unavailable);
  });

  it("fails when the system refuses to connect, and the process continues", async () => {
    // The system refuses it at once, as any address without a route, or without a descriptor for the socket.
    const nowhere = "255.255.255.255";
    await using sql = open({ url: `postgres://nobody@${nowhere}:5432/nothing` }, LONG_MS);
    const error = await outcome(sql`select 1`);
    expect((error as Error).message).toContain(nowhere);
    expect(toFailure(error).status).toBe(503);
    expect(await outcome(sql.transaction("", async () => {}))).toMatchObject({ syscall: "connect" });
  });

  it("uses another of its hosts when the system refuses to connect to one", async () => {
    await using mute = await startMute();
    const { port, hostname } = new URL("url" in mute.address ? mute.address.url : "");
    const hosts = `255.255.255.255:${port},${hostname}:${port}`;
    await using sql = open({ url: `postgres://nobody@${hosts}/nothing` }, 500);
    expect(await outcome(sql`select 1`)).toBeInstanceOf(Unavailable);
    await mute.closed;
  });

  it("that fails reports where in the sources it was sent", async () => {
    await using sql = open();
    const error = await outcome(sql`select * from nothing_of_that_name`);
    expect((error as Error).stack).toContain("database.test.ts");
    await using mute = await startMute();
    await using silent = open(mute.address, 500);
    expect(((await outcome(silent`select 1`)) as Error).stack).toContain("database.test.ts");
  });

  it("has the values it was written with when its session has lost it, as behind a pooler of transactions", async () => {
    await using own = open();
    const read = async (bytes: Buffer) => {
      const [row] = await own<{ bytes: Buffer; type: string }[]>`
        select ${bytes}::bytea as bytes, jsonb_typeof(${own.json([1])}::jsonb) as type`;
      return row;
    };
    await read(Buffer.from("first"));
    await own`deallocate all`;
    expect(await read(Buffer.from("second"))).toEqual({ bytes: Buffer.from("second"), type: "array" });
  });

  it("fails when its session loses it in a transaction, which has failed then", async () => {
    await using own = open();
    const lost = own.transaction("", async (sql) => {
      const read = () => sql`select ${Buffer.from("text")}::bytea as bytes`;
      await read();
      await sql`deallocate all`;
      await read();
    });
    expect(await outcome(lost)).toMatchObject({ code: "26000" });
  });

  const OTHER_SETTINGS = [
    ["DateStyle", "SQL, DMY"],
    ["bytea_output", "escape"],
    ["standard_conforming_strings", "off"],
    ["default_transaction_isolation", "serializable"],
  ] as const;

  it.each(OTHER_SETTINGS)(
    "has the results that the service relies on, whatever %s of the database is",
    async (name, value) => {
      await using former = open();
      const at = new Date(Date.UTC(2026, 1, 3, 4, 5, 6));
      const results = async (sql: Pick<typeof former, "unsafe">) => [
        ...(await sql.unsafe(`
        select timestamptz '2026-02-03 04:05:06Z' as at, '\\x005c'::bytea as bytes,
               current_setting('transaction_isolation') as isolation`)),
      ];
      const expected = [{ at, bytes: Buffer.of(0, 0x5c), isolation: "read committed" }];
      expect(await results(former)).toEqual(expected);
      const [row] = await database.admin<{ name: string }[]>`select current_database() as name`;
      await database.admin.unsafe(`alter database "${row?.name}" set ${name} = '${value}'`);
      try {
        await using later = open();
        expect(await results(later)).toEqual(expected);
      } finally {
        await database.admin.unsafe(`alter database "${row?.name}" reset ${name}`);
      }
    },
  );

  it("fails for a reason that names what the server refuses", async () => {
    const name = `none_${crypto.randomUUID()}`;
    const complaint = async (others: { readonly user: string } | { readonly database: string }) => {
      await using sql = open(atOther(database.address, others));
      return complaintAbout(await outcome(sql`select 1`));
    };
    expect(await complaint({ user: name })).toBe("refuses the sign-in");
    expect(await complaint({ database: name })).toBe("does not have the database of DATABASE_URL");
    await using sql = open();
    const raised = async (state: string) =>
      complaintAbout(await outcome(sql.unsafe(`do $$ begin raise using errcode = '${state}'; end $$`)));
    expect(await raised("53100")).toBe("has no disk space left");
    expect(await raised("53200")).toBe("has no memory left");
  });

  it("uses a new connection after the server has closed the old one", async () => {
    await using sql = open();
    await database.endBackend(await backendOf(sql));
    await expect.poll(() => outcome(sql`select 1`)).toBe(null);
  });
});

describe("a transaction", () => {
  it("fails when its connection is closed in the middle, and the process continues", async () => {
    await using sql = open();
    const error = await outcome(
      sql.transaction("", async (transaction) => {
        await database.endBackend(await backendOf(transaction));
        await transaction`select 1`;
      }),
    );
    expect(toFailure(error).status).toBe(503);
    await expect.poll(() => outcome(sql`select 1`)).toBe(null);
  });

  it("fails when its connection is closed before the commit", async () => {
    await using sql = open();
    const error = await outcome(
      sql.transaction("", async (transaction) => database.endBackend(await backendOf(transaction))),
    );
    expect(toFailure(error).status).toBe(503);
    await expect.poll(() => outcome(sql`select 1`)).toBe(null);
  });

  it("is rolled back when a statement fails, even when the caller ignores that", async () => {
    await using sql = open();
    const name = `undone_${crypto.randomUUID().replaceAll("-", "")}`;
    const error = await outcome(
      sql.transaction("", async (transaction) => {
        await transaction.unsafe(`create table ${name} ()`);
        await outcome(transaction`select 1 / 0`);
        await outcome(transaction`select 1`);
      }),
    );
    expect(error).toMatchObject({ code: "22012" });
    expect(await database.admin`select from pg_class where relname = ${name}`).toHaveLength(0);
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  });

  it("accepts no statement after its end", async () => {
    await using sql = open();
    const leaked = await sql.transaction("", async (transaction) => ({ transaction }));
    expect(await outcome(leaked.transaction`select 1`)).toBeInstanceOf(Error);
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  });

  it("releases its locks when its node stops answering", async () => {
    const silent = open(database.address, LONG_MS);
    let heard: () => void = () => {};
    const locked = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const ending = outcome(
      silent.transaction("", async (transaction) => {
        await transaction`select pg_advisory_xact_lock(77)`;
        heard();
        // The server ends it. A node that can't be reached says nothing either.
        await new Promise<void>((resolve) => {
          const look = setInterval(async () => {
            const held =
              await database.admin`select from pg_locks where locktype = 'advisory' and objid = 77`;
            if (held.length > 0) return;
            clearInterval(look);
            resolve();
          }, 100);
        });
      }),
    );
    await locked;
    expect(toFailure(await ending).status).toBe(503);
    await silent.end();
  });
});

describe("rows that the database is too slow to insert at once", () => {
  it("are inserted once each, in parts, and one that is too slow by itself is reported", async () => {
    await using sql = open(database.address, 4_000);
    await using table = await database.temporaryTable();
    const parts: number[] = [];
    const insert = async (rows: readonly number[]) => {
      parts.push(rows.length);
      // As slow as there are rows.
      await sql.unsafe(
        `with slept as (select pg_sleep(${rows.length > 3 ? 60 : 0}))
         insert into ${table.name} select value::int from jsonb_array_elements_text('${JSON.stringify(rows)}'), slept
         on conflict do nothing`,
      );
    };
    await insertInHalves([1, 2, 3, 4, 5], insert);
    expect(parts).toEqual([5, 3, 2]);
    expect(await database.admin.unsafe(`select id from ${table.name} order by id`)).toEqual(
      [1, 2, 3, 4, 5].map((id) => ({ id })),
    );
    const slow = outcome(insertInHalves([1], async () => void (await sql`select pg_sleep(60)`)));
    expect(toFailure(await slow).status).toBe(503);
  });
});

it("a migrated database needs no migration, although another schema of its search path has the table of migrations, too", async () => {
  const { admin } = database;
  const [row] = await admin<{ name: string }[]>`select current_database() as name`;
  await admin.unsafe(
    "create schema other; create table other.schema_migrations (file text, min_version text)",
  );
  await admin.unsafe(`alter database "${row?.name}" set search_path = public, other`);
  try {
    await using own = open();
    expect((await migrate(own, MIGRATIONS)).missing).toEqual([]);
    expect(await admin`select from other.schema_migrations`).toEqual([]);
  } finally {
    await admin.unsafe(`alter database "${row?.name}" reset search_path; drop schema other cascade`);
  }
});

describe("closing a connection pool", () => {
  it("ends in time, whatever is running", async () => {
    const sql = open(database.address, LONG_MS);
    const running = outcome(sql`select pg_sleep(3600)`);
    await expect
      .poll(
        () => database.admin`select from pg_stat_activity where query like '%pg_sleep(3600)%' and state = 'active'
                        and pid <> pg_backend_pid()`,
      )
      .toHaveLength(1);
    const waiting = outcome(sql`select 1`);
    await sql.end({ timeout: 0.2 });
    expect(await running).toBeInstanceOf(Unavailable);
    expect(await waiting).toBeInstanceOf(Unavailable);
    expect(await outcome(sql`select 1`)).toBeInstanceOf(Unavailable);
  });
});

it("a statement that has ended leaves its parameters and lines to the next minor collection", async () => {
  const collect = minorCollection();
  await using own = open();
  await using table = await database.temporaryTable("row text");
  const insertBatch = async (batch: number) => {
    const rows = Array.from({ length: 2_000 }, (_, row) => [batch, row, `row ${row} of ${batch}`]);
    await own.transaction("", async (sql) => {
      const isEmpty = sql`= '[]'::jsonb`;
      await sql`select ${sql.json(rows)}::jsonb ${isEmpty}`;
      await sql.copy(
        table.name,
        rows.map(([, row, text]) => `${batch * 2_000 + Number(row)}\t${text}\n`).join(""),
      );
      await sql.unsafe(`delete from ${table.name}`);
      return rows.length;
    });
  };
  for (let batch = 0; batch < 10; batch++) await insertBatch(batch);
  const before = oldGenerationBytes();
  for (let batch = 0; batch < 40; batch++) {
    await insertBatch(batch);
    collect();
  }
  // A batch takes about 300 kB. What the engine itself moves there meanwhile is less than half of what all batches would be.
  expect(oldGenerationBytes() - before).toBeLessThan(20 * 300_000);
});
