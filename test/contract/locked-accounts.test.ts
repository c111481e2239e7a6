import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { type Service, startService } from "../fixtures/service.ts";

let service: Service;
let sql: Awaited<ReturnType<typeof openDatabaseOf>>;

beforeAll(async () => {
  service = await startService();
  sql = await openDatabaseOf(service);
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

describe("entries of an account whose rows another transaction has locked", () => {
  it.each(["audit_chains", "accounts"])(
    "are left out, and charged once when the rows in %s are free; those of others are charged at once",
    async (table) => {
      const [locked, other, fresh] = [0, 1, 2].map(() => crypto.randomUUID() as AccountId);
      const accounts = [locked, other, fresh] as [AccountId, AccountId, AccountId];
      for (const id of accounts)
        await sql`insert into accounts (id, name, free_nano_usd, created_at) values (${id}, 'test', 100, now())`;
      const audit = new PostgresAudit(sql, crypto.randomUUID());
      const entriesOf = (ids: readonly AccountId[]) =>
        ids.map((accountId) => ({ ...auditEntry(), accountId, costNanoUsd: 10n }));
      // The last account has no chain yet.
      await audit.insertEntries(entriesOf(accounts.slice(0, 2)));
      const batch = entriesOf(accounts);
      const insert = () => audit.insertEntries(batch, { locked: "skip" });
      const balances = async () => {
        const rows = await sql<{ id: AccountId; free: bigint }[]>`
          select id, free_nano_usd as free from accounts
          where id in (select value::uuid from jsonb_array_elements_text(${sql.json(accounts)}))`;
        return accounts.map((id) => rows.find((row) => row.id === id)?.free);
      };
      await sql.transaction("", async (transaction) => {
        const column = table === "accounts" ? "id" : "account_id";
        await transaction.unsafe(`select from ${table} where ${column} = '${locked}' for update`);
        for (let attempt = 0; attempt < 2; attempt++) {
          expect(await insert()).toEqual(batch.slice(0, 1));
          expect(await balances()).toEqual([90n, 80n, 90n]);
        }
      });
      for (let attempt = 0; attempt < 2; attempt++) {
        expect(await insert()).toEqual([]);
        expect(await balances()).toEqual([80n, 80n, 90n]);
      }
    },
  );
});
