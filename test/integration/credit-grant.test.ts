import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inTransaction } from "../../server/src/database/database.ts";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";

const USD = 1_000_000_000n;

let service: Service;
let sql: ServiceDatabase;

beforeAll(async () => {
  service = await startOperatedService();
  sql = await openDatabaseOf(service);
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

describe("a grant that waits while a node reserves credit of the account", () => {
  it("tells and records the balance with what is reserved", async () => {
    const { trpc } = await signInOperator(service.baseUrl);
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { balanceNanoUsd: before } = await trpc.operator.accounts.grantCredits.mutate({
      id,
      amountNanoUsd: 10n * USD,
      reason: "test",
    });
    const granting = await inTransaction(sql, async (transaction) => {
      await transaction`update accounts set free_nano_usd = free_nano_usd - ${4n * USD} where id = ${id}`;
      await transaction`
        insert into credit_reserves (account_id, spender, granted_nano_usd, number)
        select ${id}, max(id), ${4n * USD}, 1 from credit_spenders`;
      const granted = trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd: USD, reason: "test" });
      const waits = () =>
        sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(waits, { timeout: 4_000 }).toHaveLength(1);
      return { granted };
    });
    expect(await granting.granted).toEqual({ amountNanoUsd: USD, balanceNanoUsd: before + USD });
    const { actions } = await owner.trpc.account.actions.query();
    expect(actions[0]).toMatchObject({
      action: "account.grantCredits",
      before: { balanceNanoUsd: String(before) },
      after: { balanceNanoUsd: String(before + USD) },
    });
  });
});
