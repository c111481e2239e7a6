// The part of a service that these tests kill: it takes the data folder, starts the database, and does what it is
// told on its standard input, a JSON line each. Bundled and run in a process of its own.
import process from "node:process";
import { createInterface } from "node:readline";
import { startEmbeddedPostgres } from "@ostiary/embedded-postgres";
import postgres from "postgres";
import { lockDataDir } from "../../server/src/database/data-dir-lock.ts";

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

async function main(dataDir: string): Promise<void> {
  const lock = await lockDataDir(dataDir);
  const database = await startEmbeddedPostgres({ dataDir, log: (message) => say({ log: message }) });
  const sql = postgres({ ...database.connection, max: 2, connect_timeout: 5, onnotice: () => {} });
  await sql`create table if not exists notes (note text not null)`;

  const commands: Record<string, (value: string) => Promise<unknown>> = {
    write: (note) => sql`insert into notes values (${note})`,
    read: async () =>
      (await sql<{ note: string }[]>`select note from notes order by note`).map(({ note }) => note),
    setting: async (name) => {
      const [row] = await sql<{ value: string }[]>`select current_setting(${name}) as value`;
      return row?.value;
    },
    // Answers when the work has begun.
    work: async () => {
      sql`select count(*) from generate_series(1, 100000000000) as n`.catch(() => {});
      const isBusy = () => sql<{ busy: boolean }[]>`
        select exists (
          select from pg_stat_activity where state = 'active' and query like '%generate_series(1,%' and pid <> pg_backend_pid()
        ) as busy`;
      while (!(await isBusy())[0]?.busy);
    },
    stop: async () => {
      await sql.end({ timeout: 5 });
      await database.stop();
      await lock.release();
      setImmediate(() => process.exit(0));
    },
  };
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, name, value } = JSON.parse(line) as { id: number; name: string; value: string };
    (commands[name]?.(value) ?? Promise.reject(new Error(`no command ${name}`))).then(
      (result) => say({ id, result: result ?? null }),
      (error: unknown) => say({ id, error: String(error) }),
    );
  });
  say({ connection: database.connection });
}

main(process.argv[2] ?? "").catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? `${error.name}: ${error.message}` : error}\n`);
  process.exit(1);
});
