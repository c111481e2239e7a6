import { expect } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import type { Service } from "../fixtures/service.ts";
import { type Owner, signUp, type Visitor, visit } from "../fixtures/user.ts";
import type { Outcome } from "./requests.ts";
import { answeredIds } from "./requests.ts";

const UNLIMITED = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };

/** The environment of services for {@link openAccount}: new accounts have neither credit nor limits. */
export const WITHOUT_CREDIT = {
  OSTIARY_PLANS: JSON.stringify({
    free: { ...UNLIMITED, startingCreditsUsd: "0" },
    pro: UNLIMITED,
    enterprise: UNLIMITED,
  }),
};

/** An account with a key and a known amount of credit. */
export interface Account extends Owner {
  readonly accountId: string;
  readonly key: string;
  readonly granted: bigint;
}

/** Signs up an account, grants it credit and creates a key. */
export async function openAccount(operator: Visitor, granted: bigint): Promise<Account> {
  const owner = await signUp(operator.baseUrl);
  const { id } = await owner.trpc.account.get.query();
  await operator.trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd: granted, reason: "test" });
  const { key } = await owner.trpc.keys.create.mutate({ name: "test" });
  return { ...owner, accountId: id, key, granted };
}

/** The same account, used through another node. */
export function accountAt(baseUrl: string, account: Account): Account {
  return { ...account, ...visit(baseUrl, { cookie: account.cookie() }) };
}

interface Line {
  readonly request_id: string;
  readonly status: number;
  readonly cost_nano_usd: number;
}

/** The sums of an account's money. */
export interface Statement {
  readonly balance: bigint;
  /** The sum of the costs of its entries. */
  readonly cost: bigint;
  /** The part of it that the account's credit did not cover. */
  readonly uncollected: bigint;
  /** What upstreams billed beyond what their models can do. It is in the ledger and not in the entries. */
  readonly implausible: bigint;
}

/**
 * Checks what must be true of an account's money after any failure: each answer that arrived whole has exactly one entry,
 * refused requests cost nothing, the ledger's charges equal the costs of the entries, the balance equals the sum of the
 * ledger and is not negative, and the service's own check finds no mismatch. All entries must be in the database before.
 *
 * @param seen the outcomes that clients have seen.
 */
export async function expectPaid(
  operator: Visitor,
  account: Account,
  seen: readonly Outcome[],
): Promise<Statement> {
  // Listing makes the account's node send the entries that are still waiting.
  await account.trpc.audit.list.query({ limit: 1 });
  const headers = { authorization: `Bearer ${account.key}` };
  const response = await fetch(`${account.baseUrl}/v1/audit/export`, { headers });
  const text = (await response.text()).trimEnd();
  expect({ status: response.status, error: response.ok ? null : text }).toEqual({ status: 200, error: null });
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
  // Mismatches of other accounts are failures of other tests.
  const { mismatches, usageMismatches } = await operator.trpc.operator.checkBooks.query();
  const isOwn = (mismatch: { readonly accountId: string | null }) =>
    mismatch.accountId === null || mismatch.accountId === account.accountId;
  expect([...mismatches, ...usageMismatches].filter(isOwn)).toEqual([]);
  return { balance, cost, uncollected, implausible };
}

/**
 * Makes all credit that nodes have set aside look days old to the database, as after a jump of its clock. This must not
 * give any of it to another node.
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

/** Makes claims of requests with idempotency keys look as if their nodes had not renewed them for minutes. */
export async function ageClaims(service: Service): Promise<void> {
  await using sql = await openDatabaseOf(service);
  await sql`update idempotent_requests set renewed_at = renewed_at - interval '5 minutes' where answered_at is null`;
}
