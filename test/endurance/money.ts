import { expect } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import type { Service } from "../fixtures/service.ts";
import { type Owner, signUp, type Visitor, visit } from "../fixtures/user.ts";
import type { Outcome } from "./asking.ts";
import { answeredIds } from "./asking.ts";

const UNLIMITED = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };

/** For services of {@link openAccount}: new accounts have no credit, and no limits. */
export const WITHOUT_CREDIT = {
  OSTIARY_PLANS: JSON.stringify({
    free: { ...UNLIMITED, startingCreditsUsd: "0" },
    pro: UNLIMITED,
    enterprise: UNLIMITED,
  }),
};

/** An account with a key, and so much credit. */
export interface Account extends Owner {
  readonly accountId: string;
  readonly key: string;
  readonly granted: bigint;
}

/** Signs an account up, and gives it credit. */
export async function openAccount(operator: Visitor, granted: bigint): Promise<Account> {
  const owner = await signUp(operator.baseUrl);
  const { id } = await owner.trpc.account.get.query();
  await operator.trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd: granted, reason: "test" });
  const { key } = await owner.trpc.keys.create.mutate({ name: "test" });
  return { ...owner, accountId: id, key, granted };
}

/** The same account, at another node. */
export function accountAt(baseUrl: string, account: Account): Account {
  return { ...account, ...visit(baseUrl, { cookie: account.cookie() }) };
}

interface Line {
  readonly request_id: string;
  readonly status: number;
  readonly cost_nano_usd: number;
}

/** What an account was charged for, and what is left of it. */
export interface Statement {
  readonly balance: bigint;
  /** The sum of what its entries cost. */
  readonly cost: bigint;
  /** What of it could not be charged to its credit. */
  readonly uncollected: bigint;
  /** What upstreams have billed beyond what their models can do: in the ledger, and not in the entries. */
  readonly implausible: bigint;
}

/**
 * Checks what must be true of an account's money whatever has failed: each answer that was seen whole has one entry, what was
 * refused cost nothing, the ledger's charges are what the entries cost, the balance is the ledger's sum and not below zero, and the service's own
 * check agrees. Everything must have come to the database before.
 */
export async function expectPaid(
  operator: Visitor,
  account: Account,
  seen: readonly Outcome[],
): Promise<Statement> {
  // What its node still has to send is sent when it is asked for.
  await account.trpc.audit.list.query({ limit: 1 });
  const headers = { authorization: `Bearer ${account.key}` };
  const response = await fetch(`${account.baseUrl}/v1/audit/export`, { headers });
  const text = (await response.text()).trimEnd();
  const lines: Line[] = text === "" ? [] : text.split("\n").map((line) => JSON.parse(line));
  const costs = new Map(lines.map((line) => [line.request_id, line]));
  expect(costs.size).toBe(lines.length);
  const unpaid = answeredIds(seen).filter((id) => {
    const line = costs.get(id);
    return line === undefined || line.status !== 200 || line.cost_nano_usd === 0;
  });
  expect(unpaid).toEqual([]);
  const charged = seen.filter(({ status, id }) => {
    const isRefused = typeof status === "number" && status >= 400;
    return isRefused && id !== null && (costs.get(id)?.cost_nano_usd ?? 0) > 0;
  });
  expect(charged).toEqual([]);
  const cost = lines.reduce((sum, line) => sum + BigInt(line.cost_nano_usd), 0n);

  const ledger: { readonly kind: string; readonly amountNanoUsd: bigint; readonly reason: string }[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof account.trpc.credits.ledger.query>> =
      await account.trpc.credits.ledger.query({ limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    ledger.push(...page.entries);
    cursor = page.nextCursor;
  }
  const sumOf = (rows: typeof ledger) => rows.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  const charges = ledger.filter(({ kind }) => kind === "charge");
  const notCollected = ledger.filter(({ kind }) => kind === "uncollected");
  const implausible = sumOf(notCollected.filter(({ reason }) => reason === "implausible"));
  const uncollected = sumOf(notCollected) - implausible;
  const { balanceNanoUsd: balance } = await operator.trpc.operator.accounts.get.query({
    id: account.accountId,
  });
  expect({ charged: -sumOf(charges), balance, isOverdrawn: balance < 0n }).toEqual({
    charged: cost + implausible,
    balance: account.granted - cost + uncollected,
    isOverdrawn: false,
  });
  // Of this account: another one's fault is another test's failure.
  const { mismatches, usageMismatches } = await operator.trpc.operator.checkBooks.query();
  const isOwn = (mismatch: { readonly accountId: string | null }) =>
    mismatch.accountId === null || mismatch.accountId === account.accountId;
  expect([...mismatches, ...usageMismatches].filter(isOwn)).toEqual([]);
  return { balance, cost, uncollected, implausible };
}

/**
 * Makes everything that is noted of credit that nodes have set aside look days old to the database, as a clock that jumps
 * would. No credit may change hands for it.
 */
export async function ageReservations(service: Service): Promise<void> {
  await using sql = await openDatabaseOf(service);
  const columns = await sql<{ table_name: string; column_name: string }[]>`
    select table_name, column_name from information_schema.columns
    where table_schema = 'public' and table_name like 'credit\_%' and column_name in ('renewed_at', 'seen_at')`;
  expect(columns.length).toBeGreaterThan(0);
  for (const { table_name: table, column_name: column } of columns)
    await sql`update ${sql(table)} set ${sql(column)} = ${sql(column)} - interval '2 days'`;
}
