import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { AuditEntry } from "../../server/src/contract/entry.ts";
import type { SpenderId } from "../../server/src/contract/ids.ts";
import type { ClaimId } from "../../server/src/contract/kept-answer.ts";
import { type AskAnswer, SpenderGone } from "../../server/src/credits/credit-store.ts";
import type { Uncollected } from "../../server/src/credits/ledger.ts";
import { PostgresCredit } from "../../server/src/credits/postgres-credit.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { CreditDatabase } from "../simulation/stores/credit-database.ts";

const RUNS = 8;
const STEPS = 70;
/** A spender that was not seen for so long is away. */
const AWAY_MS = 60_000;
/** Stands for no spender, which comes after all others. */
const NOBODY = (2n ** 60n) as SpenderId;

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

/** A xorshift generator: a failing run can be repeated by its seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return Math.abs(state) % below;
  };
}

/** The SQL and the simulated store, with the ids of the one for those of the other. */
class Pair {
  readonly accounts = [0, 1].map(() => crypto.randomUUID() as AccountId);
  readonly nodes = [0, 1].map(() => crypto.randomUUID());
  readonly spenders: { readonly real: SpenderId; readonly model: SpenderId; readonly node: number }[] = [];
  readonly sent: AuditEntry[][] = [];
  readonly model = new CreditDatabase(() => 0);
  readonly #numbers = new Map<string, bigint>();
  readonly #uncollected: Uncollected[] = [];
  /** What was released, as it has to be recorded. */
  readonly #released: { spender: SpenderId; account: AccountId; amount: bigint }[] = [];
  readonly #credit = this.nodes.map((node) => new PostgresCredit(sql, node, "test", 1));
  readonly #audit = this.nodes.map(
    (node) => new PostgresAudit(sql, node, (row) => this.#uncollected.push(row)),
  );

  async begin(free: bigint): Promise<void> {
    for (const id of this.accounts) {
      await sql`insert into accounts (id, name, free_nano_usd, created_at) values (${id}, 'test', ${free}, now())`;
      await sql`
        insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
        values (${uuidv7()}, ${id}, now(), 'grant', ${free}, 'test')`;
      this.model.grant(id, free);
    }
  }

  async open(node: number): Promise<void> {
    const real = await this.#credit[node]?.open();
    if (real === undefined) throw new Error("there is no such node");
    this.spenders.push({ real, model: this.model.open(this.nodes[node] ?? ""), node });
  }

  async ask(random: (below: number) => number): Promise<void> {
    const spender = this.spenders[random(this.spenders.length)];
    const accountId = this.accounts[random(2)];
    if (spender === undefined || accountId === undefined) return;
    const name = `${spender.real} ${accountId}`;
    const last = this.#numbers.get(name) ?? 0n;
    // Mostly the next; now and then one that is late, or repeated.
    const number = random(5) === 0 ? last - BigInt(random(3)) : last + 1n;
    if (number > last) this.#numbers.set(name, number);
    const ask = { accountId, number, targetNanoUsd: BigInt(random(400)), extraNanoUsd: BigInt(random(30)) };
    const real = await settled(this.#credit[spender.node]?.ask({ ...ask, spender: spender.real }));
    const model = await settled(this.model.storeOf("").ask({ ...ask, spender: spender.model }));
    expect(this.#comparable(real, "real")).toEqual(this.#comparable(model, "model"));
  }

  /** The model's clock stands still, so it tells which spender was least seen only if that is away. */
  #comparable(answer: AskAnswer | "gone" | undefined, side: "real" | "model") {
    if (typeof answer !== "object") return answer;
    const { leastSeen } = answer;
    if (leastSeen === null || leastSeen.unseenMs < AWAY_MS)
      return { ...answer, leastSeen: leastSeen !== null };
    const spender = this.spenders.find((one) => String(one[side]) === leastSeen.id);
    return { ...answer, leastSeen: { spender, unseenS: Math.round(leastSeen.unseenMs / 10_000) } };
  }

  /** A spender was not seen for some minutes. */
  async leave(random: (below: number) => number): Promise<void> {
    const index = random(this.spenders.length);
    const { real, model } = this.spenders[index] ?? {};
    const row = model === undefined ? undefined : this.model.spenders.get(model);
    if (real === undefined || row === undefined) return;
    const unseenMs = 2 * AWAY_MS + index * 20_000;
    row.seenMs = -unseenMs;
    await sql`update credit_spenders set seen_at = now() - ${unseenMs} * interval '1 millisecond' where id = ${real}`;
  }

  async listUnseen(node: number): Promise<void> {
    const real = (await this.#credit[node]?.listUnseen(AWAY_MS)) ?? [];
    const known = real.flatMap(({ id }) => this.spenders.find((spender) => spender.real === id)?.model ?? []);
    const model = this.model.listUnseen(this.nodes[node] ?? "", AWAY_MS);
    expect(new Set(known)).toEqual(new Set(model.map(({ id }) => id)));
  }

  async insert(random: (below: number) => number): Promise<void> {
    const again = this.sent[random(this.sent.length + 3)];
    const entries = again ?? Array.from({ length: 1 + random(4) }, () => this.#entry(random));
    this.sent.push(entries);
    const node = random(2);
    // An entry of a former version names no spender: it is charged to the first of the node.
    const first = this.spenders.find(
      (spender) => spender.node === node && this.model.spenders.has(spender.model),
    );
    const forModel = entries.map((entry) => ({
      ...entry,
      spender:
        (entry.spender === undefined ? first : this.spenders.find(({ real }) => real === entry.spender))
          ?.model ?? NOBODY,
    }));
    this.#uncollected.length = 0;
    await this.#audit[node]?.insertEntries(entries);
    expect(sorted(this.#uncollected)).toEqual(sorted(this.model.insertEntries(forModel)));
  }

  async close(node: number, random: (below: number) => number): Promise<void> {
    const own = this.spenders.filter((spender) => spender.node === node);
    const below = own[random(own.length)];
    if (below === undefined) return;
    await this.#credit[node]?.closeBelow(below.real);
    this.model.closeBelow(this.nodes[node] ?? "", below.model);
  }

  async release(random: (below: number) => number): Promise<void> {
    const spender = this.spenders[random(this.spenders.length)];
    if (spender === undefined) return;
    const expected = this.#noteRelease(spender);
    expect(await this.#credit[0]?.release(spender.real, "test")).toEqual(expected);
    this.model.release(spender.model);
  }

  /** Notes what a release frees. @returns what it is to tell. */
  #noteRelease({ real, model }: { readonly real: SpenderId; readonly model: SpenderId }) {
    const row = this.model.spenders.get(model);
    if (row === undefined) return null;
    const freed = [...row.reserves].map(([account, { granted, charged }]) => ({
      spender: real,
      account,
      amount: granted - charged,
    }));
    this.#released.push(...freed);
    const amounts = freed.map(({ amount }) => amount).filter((amount) => amount > 0n);
    return {
      accounts: amounts.length,
      amountNanoUsd: amounts.reduce((sum, amount) => sum + amount, 0n),
    };
  }

  async releaseUnseen(random: (below: number) => number): Promise<void> {
    const spender = this.spenders[random(this.spenders.length)];
    if (spender === undefined) return;
    const unseenMs = random(2) === 0 ? AWAY_MS : -AWAY_MS;
    const freed = this.#released.length;
    this.#noteRelease(spender);
    const isReleased = this.model.releaseUnseen(spender.model, unseenMs);
    if (!isReleased) this.#released.length = freed;
    expect(await this.#credit[0]?.releaseUnseen(spender.real, unseenMs, "test")).toBe(isReleased);
  }

  async heartbeat(node: number): Promise<void> {
    const own = this.spenders.filter((spender) => spender.node === node);
    const real = await this.#credit[node]?.heartbeat(own.map((spender) => spender.real));
    const model = this.model.heartbeat(own.map((spender) => spender.model));
    const modelOf = (id: SpenderId) => own.find((spender) => spender.real === id)?.model;
    expect(real?.gone.map(modelOf)).toEqual(model.gone);
    const reclaimed = real?.reclaimed
      .map(({ accountId, spender }) => `${accountId} ${modelOf(spender)}`)
      .toSorted();
    expect(reclaimed).toEqual(
      model.reclaimed.map(({ accountId, spender }) => `${accountId} ${spender}`).toSorted(),
    );
  }

  /** What was released is recorded, and what operators see of the spenders. */
  async compareRecords(): Promise<void> {
    const ids = sql.json(this.accounts);
    const releases = await sql`
      select spender, account_id as account, amount_nano_usd as amount from credit_releases
      where account_id in (select value::uuid from jsonb_array_elements_text(${ids})) order by 1, 2`;
    const byPlace = (row: { spender: SpenderId; account: AccountId }) =>
      `${String(row.spender).padStart(9, "0")} ${row.account}`;
    expect([...releases]).toEqual(this.#released.toSorted((a, b) => (byPlace(a) < byPlace(b) ? -1 : 1)));
    const listed = (await this.#credit[0]?.list()) ?? [];
    const expected = this.spenders.flatMap(({ real, model, node }) => {
      const row = this.model.spenders.get(model);
      if (row === undefined) return [];
      const amounts = [...row.reserves.values()].map(({ granted, charged }) => granted - charged);
      return {
        id: real,
        nodeId: this.nodes[node],
        isAway: row.seenMs < -AWAY_MS,
        accounts: amounts.filter((amount) => amount > 0n).length,
        reservedNanoUsd: amounts.reduce((sum, amount) => sum + amount, 0n),
      };
    });
    expect(listed.filter(({ nodeId }) => this.nodes.some((node) => node === nodeId))).toMatchObject(expected);
  }

  /** What the tables hold is the same. */
  async compare(): Promise<void> {
    for (const accountId of this.accounts) {
      const [account] = await sql<{ free: bigint; balance: bigint; ledger: bigint; costs: bigint }[]>`
        select free_nano_usd as free, balance_nano_usd(accounts) as balance,
               (select sum(amount_nano_usd)::bigint from credit_ledger where account_id = accounts.id) as ledger,
               (select coalesce(sum(charged_nano_usd + uncollected_nano_usd), 0)::bigint
                from credit_days where account_id = accounts.id) as costs
        from accounts where id = ${accountId}`;
      const ledger = this.model.ledger.filter((row) => row.accountId === accountId);
      const sum = ledger.reduce((total, { amount }) => total + amount, 0n);
      const costs = ledger
        .filter(({ kind }) => kind === "charge" || kind === "uncollected")
        .reduce((total, { amount }) => total + amount, 0n);
      expect(account).toEqual({
        free: this.model.free.get(accountId),
        balance: this.model.balanceOf(accountId),
        ledger: sum,
        costs,
      });
      expect(account?.balance).toBe(account?.ledger);
      const rows = await sql<
        { spender: SpenderId; granted: bigint; charged: bigint; number: bigint; wanted: boolean }[]
      >`
        select spender, granted_nano_usd as granted, charged_nano_usd as charged, number, wanted
        from credit_reserves where account_id = ${accountId} order by spender`;
      const reserves = this.spenders.flatMap(({ real, model }) => {
        const reserve = this.model.spenders.get(model)?.reserves.get(accountId);
        return reserve === undefined ? [] : [{ spender: real, ...reserve }];
      });
      expect([...rows]).toEqual(reserves);
    }
    const keys = await sql<{ claim: ClaimId; answer: string | null }[]>`
      select claim, answer from idempotent_requests
      where account_id = any (string_to_array(${this.accounts.join(",")}, ',')::uuid[]) and answered_at is not null
      order by claim`;
    const kept = this.model.idempotency.answered.map(({ claim, answer }) => ({
      claim,
      answer: answer?.text ?? null,
    }));
    expect([...keys]).toEqual(kept.toSorted((a, b) => (a.claim < b.claim ? -1 : 1)));
  }

  #entry(random: (below: number) => number): AuditEntry {
    const spender = this.spenders[random(this.spenders.length)];
    const key = random(4) === 0 ? Buffer.from([random(3)]).toString("base64") : null;
    const implausible = random(8) === 0 ? BigInt(random(1_000)) : 0n;
    return auditEntry({
      accountId: this.accounts[random(2)] ?? ("" as AccountId),
      costNanoUsd: BigInt(random(5) === 0 ? 0 : random(120)),
      ...(spender === undefined || random(10) === 0 ? {} : { spender: spender.real }),
      ...(implausible === 0n ? {} : { implausibleNanoUsd: implausible }),
      ...(key === null
        ? {}
        : {
            idempotency: {
              claim: crypto.randomUUID() as ClaimId,
              idempotencyKeyDigest: key,
              bodyDigest: "Ym9keQ==",
              answer: random(3) === 0 ? null : { isStream: false, model: "acme/chat", text: uuidv7() },
            },
          }),
    });
  }
}

/** The answer, or that the spender is gone. */
function settled<Answer>(answer: Promise<Answer> | undefined): Promise<Answer | "gone" | undefined> {
  return Promise.resolve(answer).catch((error: unknown) => {
    if (error instanceof SpenderGone) return "gone";
    throw error;
  });
}

function sorted(rows: readonly Uncollected[]): readonly Uncollected[] {
  return rows.toSorted((a, b) => (a.accountId + a.reason < b.accountId + b.reason ? -1 : 1));
}

describe("credit in the database", () => {
  const seed = Number(process.env.SEED ?? Math.ceil(Math.random() * 1e9));

  it.each(Array.from({ length: RUNS }, (_, run) => seed + run))(
    "behaves as the simulation models it, after any sequence of statements (seed %s)",
    async (runSeed) => {
      const random = randomOf(runSeed);
      const pair = new Pair();
      await pair.begin(BigInt(300 + random(700)));
      await pair.open(0);
      await pair.open(1);
      for (let step = 0; step < STEPS; step++) {
        const kind = random(23);
        if (kind < 8) await pair.ask(random);
        else if (kind < 15) await pair.insert(random);
        else if (kind === 15) await pair.open(random(2));
        else if (kind === 16) await pair.close(random(2), random);
        else if (kind === 17) await (random(2) === 0 ? pair.release(random) : pair.releaseUnseen(random));
        else if (kind < 20) await pair.heartbeat(random(2));
        else if (kind < 22) await pair.leave(random);
        else await pair.listUnseen(random(2));
        await pair.compare();
      }
      await pair.compareRecords();
    },
  );

  it("is moved by twelve concurrent nodes without deadlock, and the sums stay right", async () => {
    const accounts = [0, 1, 2].map(() => crypto.randomUUID() as AccountId);
    for (const id of accounts) {
      await sql`insert into accounts (id, name, free_nano_usd, created_at) values (${id}, 'test', 5000, now())`;
    }
    const work = async (node: number) => {
      const nodeId = crypto.randomUUID();
      const credit = new PostgresCredit(sql, nodeId, "test", 1);
      const audit = new PostgresAudit(sql, nodeId);
      const random = randomOf(seed + node);
      let spender = await credit.open();
      for (let turn = 1n; turn <= 20n; turn++) {
        const accountId = accounts[random(3)] ?? ("" as AccountId);
        await credit.ask({
          accountId,
          spender,
          number: turn,
          targetNanoUsd: BigInt(random(600)),
          extraNanoUsd: 10n,
        });
        const entries = accounts.map((accountId) =>
          auditEntry({
            accountId,
            usageSource: "upstream",
            promptTokens: 1,
            completionTokens: 1,
            cachedTokens: 0,
            costNanoUsd: BigInt(random(60)),
            spender,
          }),
        );
        await audit.insertEntries(random(2) === 0 ? entries : entries.toReversed());
        if (random(6) === 0) {
          const next = await credit.open();
          await credit.closeBelow(next);
          spender = next;
        }
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, node) => work(node)));
    for (const id of accounts) {
      const [row] = await sql<{ balance: bigint; ledger: bigint; costs: bigint; free: bigint }[]>`
        select free_nano_usd as free, balance_nano_usd(accounts) as balance,
               (select coalesce(sum(amount_nano_usd), 0)::bigint from credit_ledger where account_id = accounts.id) as ledger,
               (select coalesce(sum(charged_nano_usd + uncollected_nano_usd), 0)::bigint
                from credit_days where account_id = accounts.id) as costs
        from accounts where id = ${id}`;
      expect(row?.balance).toBe(5_000n + (row?.ledger ?? 0n));
      expect(row?.costs).toBe(row?.ledger);
      expect(row?.free).toBeGreaterThanOrEqual(0n);
    }
  });
});
