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

describe("a grant with an idempotency key", () => {
  it("is booked once, however often it is repeated, and has the first answer each time", async () => {
    const { trpc } = await signInOperator(service.baseUrl);
    const { grantCredits } = trpc.operator.accounts;
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { balanceNanoUsd: before } = await owner.trpc.credits.balance.query();
    const grant = { id, amountNanoUsd: USD, reason: "invoice 1", idempotencyKey: "invoice-1" };
    const first = { amountNanoUsd: USD, balanceNanoUsd: before + USD };
    const together = await Promise.all(Array.from({ length: 5 }, () => grantCredits.mutate(grant)));
    expect(together).toEqual(Array.from({ length: 5 }, () => first));
    await grantCredits.mutate({ ...grant, idempotencyKey: "invoice-2" });
    expect(await grantCredits.mutate(grant)).toEqual(first);
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe(before + 2n * USD);
    const { actions } = await owner.trpc.account.actions.query();
    expect(actions.filter(({ action }) => action === "account.grantCredits")).toHaveLength(2);

    for (const other of [{ amountNanoUsd: 2n * USD }, { reason: "invoice 2" }]) {
      await expect(grantCredits.mutate({ ...grant, ...other })).rejects.toMatchObject({
        data: { ostiary: { code: "idempotency_key_reused", param: "idempotencyKey" } },
      });
    }
  });

  it("has the first answer when it took back less than was asked for", async () => {
    const { trpc } = await signInOperator(service.baseUrl);
    const { grantCredits } = trpc.operator.accounts;
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { balanceNanoUsd: before } = await owner.trpc.credits.balance.query();
    const refund = { id, amountNanoUsd: -before - USD, reason: "refund", idempotencyKey: "refund-1" };
    const first = { amountNanoUsd: -before, balanceNanoUsd: 0n };
    expect(await grantCredits.mutate(refund)).toEqual(first);
    expect(await grantCredits.mutate(refund)).toEqual(first);
  });

  it("is another one for each account", async () => {
    const { trpc } = await signInOperator(service.baseUrl);
    for (let number = 0; number < 2; number++) {
      const owner = await signUp(service.baseUrl);
      const { id } = await owner.trpc.account.get.query();
      const { balanceNanoUsd: before } = await owner.trpc.credits.balance.query();
      const grant = { id, amountNanoUsd: USD, reason: "test", idempotencyKey: "same-for-both" };
      const { balanceNanoUsd } = await trpc.operator.accounts.grantCredits.mutate(grant);
      expect(balanceNanoUsd).toBe(before + USD);
    }
  });
});

describe("a grant that raises the balance above what sums can hold", () => {
  it("is refused, and books nothing", async () => {
    const { trpc } = await signInOperator(service.baseUrl);
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const most = 4_500_000_000n * USD;
    await sql`update accounts set free_nano_usd = ${most - USD} where id = ${id}`;
    const grant = (amountNanoUsd: bigint) =>
      trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd, reason: "test" });
    await expect(grant(USD + 1n)).rejects.toMatchObject({
      data: { ostiary: { code: "invalid_request", param: "amountNanoUsd" } },
    });
    expect(await grant(USD)).toEqual({ amountNanoUsd: USD, balanceNanoUsd: most });
  });
});
