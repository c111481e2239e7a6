import { beforeAll, describe, expect, it } from "vitest";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { SpenderId } from "../../server/src/contract/ids.ts";
import type { ClaimId } from "../../server/src/contract/kept-answer.ts";
import type { Database } from "../../server/src/database/database.ts";
import { CLAIM_LEASE_MS, type IdempotentRequest, KEPT_MS } from "../../server/src/idempotency/idempotency.ts";
import { dropOldAnswers, PostgresIdempotency } from "../../server/src/idempotency/idempotency-store.ts";
import { openAuditDatabase } from "../fixtures/audit-database.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { IdempotencyTable } from "../simulation/stores/idempotency-table.ts";
import { Random } from "../simulation/world/random.ts";

const RUNS = 4;
const STEPS = 200;
const HOUR_MS = 3_600_000;
/** Sums of these are seconds away from every limit of time, which the database and the model reach at slightly different moments. */
const PASSED_MS = [25_000, 25_000, 50_000, 10 * HOUR_MS, 10 * HOUR_MS, -10 * HOUR_MS];
/** By how much a node's view of the time may be behind or ahead: less than the sum that comes next after or before a limit. */
const BEHIND_MS = { lease: 30_000, kept: 9 * HOUR_MS };

const database = sharedByFile(() => openAuditDatabase(auditEntry()));
let sql: Database;

beforeAll(async () => {
  sql = database.sql;
});

async function newAccount(): Promise<AccountId> {
  const id = crypto.randomUUID() as AccountId;
  await sql`insert into accounts (id, name, created_at) values (${id}, 'test', now())`;
  return id;
}

interface Claimed {
  readonly claim: ClaimId;
  readonly request: IdempotentRequest;
}

interface StartedNode {
  readonly id: string;
  /** Of the present start; `null` while it has none. */
  spender: SpenderId | null;
}

/** The SQL and the simulated table, with two nodes that claim the same requests. */
class Pair {
  readonly #accounts: readonly AccountId[];
  readonly #random: Random;
  readonly #nodes = [0, 1].map((): StartedNode => ({ id: crypto.randomUUID(), spender: 1n as SpenderId }));
  readonly #stores = this.#nodes.map((node) => new PostgresIdempotency(sql, node.id, () => node.spender));
  readonly #claims: Claimed[] = [];
  /** How far the model's clock is ahead: in the database all times are moved instead. */
  #aheadMs = 0;
  readonly #model = new IdempotencyTable(() => Date.now() + this.#aheadMs);

  constructor(accounts: readonly AccountId[], random: Random) {
    this.#accounts = accounts;
    this.#random = random;
  }

  async step(): Promise<void> {
    const kind = this.#random.below(20);
    if (kind < 9) await this.#claim();
    else if (kind === 9) await this.#answer();
    else if (kind === 10) await this.#tell("release");
    else if (kind === 11) await this.#tell("renew");
    else if (kind === 12) await this.#clear();
    else await this.#pass(this.#one(PASSED_MS));
    await this.#compare();
  }

  async #claim(): Promise<void> {
    const node = this.#random.below(2);
    const { id: nodeId, spender } = this.#nodes[node] as StartedNode;
    const request = {
      accountId: this.#one(this.#accounts),
      idempotencyKeyDigest: Buffer.from([7]),
      bodyDigest: Buffer.from([this.#random.below(2)]),
    };
    const claim = crypto.randomUUID() as ClaimId;
    // A node that does not believe a jump of the clock is behind.
    const [behindMs, keptBehindMs] = [BEHIND_MS.lease, BEHIND_MS.kept].map(
      (ms) => this.#one([-1, 0, 1]) * ms,
    ) as [number, number];
    const replaceable = (nowMs: number) => ({
      renewedBefore: new Date(nowMs - CLAIM_LEASE_MS - behindMs),
      createdBefore: new Date(nowMs - KEPT_MS - keptBehindMs),
    });
    const nowMs = Date.now();
    const real = await this.#stores[node]?.claim(request, claim, replaceable(nowMs));
    const model = this.#model.claim(nodeId, spender, request, claim, replaceable(nowMs + this.#aheadMs));
    expect(real).toEqual(model);
    this.#claims.push({ claim, request });
  }

  /** An attempt is answered: mostly one of the last ones, whatever has become of its claim. */
  async #answer(): Promise<void> {
    const { claim, request } = this.#claims.at(-1 - this.#random.below(6)) ?? {};
    if (claim === undefined || request === undefined) return;
    const { accountId, idempotencyKeyDigest, bodyDigest } = request;
    const idempotency = {
      claim,
      idempotencyKeyDigest: Buffer.from(idempotencyKeyDigest).toString("base64"),
      bodyDigest: Buffer.from(bodyDigest).toString("base64"),
      answer: this.#random.chance(0.3) ? null : { isStream: true, model: "acme/chat", text: claim },
    };
    const reasons: string[] = [];
    const node = this.#one(this.#nodes);
    const audit = new PostgresAudit(sql, node.id, ({ reason }) => reasons.push(reason));
    await audit.insertEntries([auditEntry({ accountId, idempotency, costNanoUsd: 1n })]);
    expect(!reasons.includes("repeated")).toBe(this.#model.keep(accountId, idempotency));
  }

  async #tell(what: "release" | "renew"): Promise<void> {
    const claims = this.#claims.slice(-8).flatMap(({ claim }) => (this.#random.chance(0.4) ? claim : []));
    await this.#stores[this.#random.below(2)]?.[what](claims);
    this.#model[what](claims);
  }

  /** A node is started again. Claims that it made while it had no spender are of an earlier start. */
  async #clear(): Promise<void> {
    const node = this.#random.below(2);
    const started = this.#nodes[node] as StartedNode;
    const spender = BigInt(1 + this.#random.below(4)) as SpenderId;
    started.spender = this.#random.chance(0.2) ? null : spender;
    await this.#stores[node]?.clear(spender);
    this.#model.clear(started.id, spender);
  }

  async #pass(ms: number): Promise<void> {
    this.#aheadMs += ms;
    await sql`
      update idempotent_requests set
        created_at = created_at - ${ms} * interval '1 millisecond', renewed_at = renewed_at - ${ms} * interval '1 millisecond'
      where account_id = any (string_to_array(${this.#accounts.join(",")}, ',')::uuid[])`;
  }

  async #compare(): Promise<void> {
    const rows = await sql<{ claim: ClaimId; answered: boolean; answer: string | null; leased: boolean }[]>`
      select claim, answered_at is not null as answered, answer,
             renewed_at >= now() - ${CLAIM_LEASE_MS} * interval '1 millisecond' as leased
      from idempotent_requests where account_id = any (string_to_array(${this.#accounts.join(",")}, ',')::uuid[])
      order by claim`;
    const answered = this.#model.answered.map(({ claim, answer }) => ({
      claim,
      answer: answer?.text ?? null,
    }));
    expect(rows.flatMap(({ claim, answer, ...row }) => (row.answered ? { claim, answer } : []))).toEqual(
      answered.toSorted((one, other) => (one.claim < other.claim ? -1 : 1)),
    );
    expect(rows.filter((row) => !row.answered && row.leased)).toHaveLength(this.#model.running);
  }

  #one<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)] as Item;
  }
}

describe("idempotency keys in the database", () => {
  const seed = Number(process.env.SEED ?? Math.ceil(Math.random() * 1e9));

  it.each(Array.from({ length: RUNS }, (_, run) => seed + run))(
    "behave as the simulation models them, after any sequence of statements (seed %s)",
    async (runSeed) => {
      const pair = new Pair([await newAccount(), await newAccount()], new Random(runSeed));
      for (let step = 0; step < STEPS; step++) await pair.step();
    },
  );

  it("stay with the node and the start that took them over, whatever their former one does", async () => {
    const accountId = await newAccount();
    const started = { spender: 1n as SpenderId };
    const node = new PostgresIdempotency(sql, crypto.randomUUID(), () => started.spender);
    const other = new PostgresIdempotency(sql, crypto.randomUUID(), () => 2n as SpenderId);
    const claim = async (store: PostgresIdempotency, key: number) => {
      const request = {
        accountId,
        idempotencyKeyDigest: Buffer.from([key]),
        bodyDigest: Buffer.from([0]),
      };
      const id = crypto.randomUUID() as ClaimId;
      const nowMs = Date.now();
      const { kind } = await store.claim(request, id, {
        renewedBefore: new Date(nowMs - CLAIM_LEASE_MS),
        createdBefore: new Date(nowMs - KEPT_MS),
      });
      return { id, kind };
    };
    const former = [await claim(node, 0), await claim(node, 1), await claim(node, 2)];
    await sql`
      update idempotent_requests set renewed_at = renewed_at - ${2 * CLAIM_LEASE_MS} * interval '1 millisecond'
      where account_id = ${accountId}`;
    // The node starts again while its former process still ends.
    started.spender = 3n as SpenderId;
    const taken = [await claim(other, 0), await claim(node, 1)];
    expect([...former, ...taken].map(({ kind }) => kind)).toEqual(Array(5).fill("claimed"));
    await node.clear(started.spender);
    await node.release(former.map(({ id }) => id));
    const left = await sql<{ claim: ClaimId }[]>`
      select claim from idempotent_requests where account_id = ${accountId} order by key_digest`;
    expect(left.map((row) => row.claim)).toEqual(taken.map(({ id }) => id));
  });

  it("are renewed beside claims that are being answered, without waiting for them", async () => {
    const accountId = await newAccount();
    const node = new PostgresIdempotency(sql, crypto.randomUUID(), () => null);
    const claims = ["answered", "running"].map((name) => ({ name, id: crypto.randomUUID() as ClaimId }));
    await sql`
      insert into idempotent_requests (account_id, key_digest, body_digest, claim, node_id, renewed_at)
      select ${accountId}, convert_to(name, 'UTF8'), ''::bytea, id, gen_random_uuid(), now() - interval '30 seconds'
      from jsonb_to_recordset(${sql.json(claims)}) as given (name text, id uuid)`;
    // As the recorder does, which may be waiting for another of the claims.
    await sql.transaction("", async (answering) => {
      await answering`
        select from idempotent_requests where account_id = ${accountId} and key_digest = 'answered' for update`;
      await node.renew(claims.map(({ id }) => id));
    });
    const renewed = await sql<{ name: string }[]>`
      select convert_from(key_digest, 'UTF8') as name from idempotent_requests
      where account_id = ${accountId} and renewed_at > now() - interval '20 seconds'`;
    expect(renewed.map(({ name }) => name)).toEqual(["running"]);
  });

  it("are taken over only if the database's clock and the time of the node both say that the lease has ended", async () => {
    const accountId = await newAccount();
    const node = new PostgresIdempotency(sql, crypto.randomUUID(), () => null);
    const request = { accountId, idempotencyKeyDigest: Buffer.from([0]), bodyDigest: Buffer.from([0]) };
    const claim = async (renewedBeforeMs: number) => {
      const createdBefore = new Date(Date.now() - KEPT_MS);
      const renewedBefore = new Date(renewedBeforeMs);
      return (await node.claim(request, crypto.randomUUID() as ClaimId, { renewedBefore, createdBefore }))
        .kind;
    };
    const pass = (ms: number) => sql`
      update idempotent_requests set renewed_at = renewed_at - ${ms} * interval '1 millisecond'
      where account_id = ${accountId}`;
    expect(await claim(Date.now())).toBe("claimed");
    await pass(CLAIM_LEASE_MS / 2);
    expect(await claim(Date.now())).toBe("running");
    await pass(CLAIM_LEASE_MS);
    expect(await claim(Date.now() - 2 * CLAIM_LEASE_MS)).toBe("running");
    expect(await claim(Date.now() - CLAIM_LEASE_MS)).toBe("claimed");
  });

  it("are forgotten a day after their request, or when their claim of that age has no lease any more", async () => {
    const accountId = await newAccount();
    const rows = [
      { name: "answered today", created: "-23 hours", answered: true, renewed: "-23 hours" },
      { name: "answered yesterday", created: "-25 hours", answered: true, renewed: "0" },
      { name: "answered, by a clock that is ahead", created: "2 minutes", answered: true, renewed: "0" },
      { name: "running since yesterday", created: "-25 hours", answered: false, renewed: "-59 seconds" },
      { name: "left yesterday", created: "-25 hours", answered: false, renewed: "-61 seconds" },
      { name: "left today", created: "-23 hours", answered: false, renewed: "-23 hours" },
    ];
    await sql`
      insert into idempotent_requests
        (account_id, key_digest, body_digest, claim, node_id, created_at, renewed_at, answered_at)
      select ${accountId}, convert_to(name, 'UTF8'), ''::bytea, gen_random_uuid(), gen_random_uuid(),
             now() + created, now() + renewed, case when answered then now() + created end
      from jsonb_to_recordset(${sql.json(rows)})
        as given (name text, created interval, answered boolean, renewed interval)`;
    await dropOldAnswers(sql);
    const left = await sql<{ name: string; ahead: boolean }[]>`
      select convert_from(key_digest, 'UTF8') as name, created_at > now() as ahead
      from idempotent_requests where account_id = ${accountId} order by 1`;
    expect([...left]).toEqual(
      ["answered today", "answered, by a clock that is ahead", "left today", "running since yesterday"].map(
        (name) => ({ name, ahead: false }),
      ),
    );
  });
});
