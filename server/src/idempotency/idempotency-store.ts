import type { SpenderId } from "../contract/ids.ts";
import type { ClaimId } from "../contract/kept-answer.ts";
import { type Database, readDatabaseClock } from "../database/database.ts";
import { deleteInBatches } from "../database/delete-in-batches.ts";
import {
  CLAIM_LEASE_MS,
  type ClaimOutcome,
  type IdempotencyStore,
  type IdempotentRequest,
  KEPT_MS,
  type Replaceable,
} from "./idempotency.ts";

/** A row may be deleted between the insert and the select. This is not likely to happen several times. */
const MAX_ATTEMPTS = 5;
const DELETE_BATCH = 1_000;

interface Row {
  body_digest: Uint8Array;
  answered_at: Date | null;
  answer: string | null;
  is_stream: boolean | null;
  model: string | null;
}

/** Requests with idempotency keys, and their answers, in Postgres. */
export class PostgresIdempotency implements IdempotencyStore {
  readonly #database: Database;
  readonly #nodeId: string;
  readonly #spender: () => SpenderId | null;

  /** `spender` identifies this life of the node. */
  constructor(database: Database, nodeId: string, spender: () => SpenderId | null) {
    this.#database = database;
    this.#nodeId = nodeId;
    this.#spender = spender;
  }

  async claim(
    request: IdempotentRequest,
    claim: ClaimId,
    { renewedBefore, createdBefore }: Replaceable,
  ): Promise<ClaimOutcome> {
    const { accountId, idempotencyKeyDigest, bodyDigest } = request;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const claimed = await this.#database`
        insert into idempotent_requests as known (account_id, key_digest, body_digest, claim, node_id, spender, renewed_at)
        values (${accountId}, ${idempotencyKeyDigest}, ${bodyDigest}, ${claim}, ${this.#nodeId}, ${this.#spender()}, now())
        on conflict (account_id, key_digest) do update set
          body_digest = excluded.body_digest, claim = excluded.claim, node_id = excluded.node_id,
          spender = excluded.spender, created_at = now(),
          renewed_at = now(), answered_at = null, is_stream = null, model = null, answer = null
        where (
            known.answered_at is not null
            or known.renewed_at < least(now() - ${CLAIM_LEASE_MS} * interval '1 millisecond', ${renewedBefore}::timestamptz)
          )
          and (
            known.created_at < least(now() - ${KEPT_MS} * interval '1 millisecond', ${createdBefore}::timestamptz)
            or (known.answered_at is null and known.body_digest = excluded.body_digest)
          )
        returning claim`;
      if (claimed.length > 0) return { kind: "claimed" };
      // A claim that was renewed while the database's clock was ahead has its lease from here.
      const [row] = await this.#database<Row[]>`
        with ahead as (
          update idempotent_requests set renewed_at = now()
          where account_id = ${accountId} and key_digest = ${idempotencyKeyDigest}
            and answered_at is null and renewed_at > clock_timestamp()
        )
        select body_digest, answered_at, answer, is_stream, model from idempotent_requests
        where account_id = ${accountId} and key_digest = ${idempotencyKeyDigest}`;
      if (row !== undefined) return outcomeOf(row, bodyDigest);
    }
    return { kind: "running" };
  }

  async release(claims: readonly ClaimId[]): Promise<void> {
    // Uses idempotent_requests_running.
    await this.#database`
      delete from idempotent_requests
      where answered_at is null
        and claim in (select value::uuid from jsonb_array_elements_text(${this.#database.json([...claims])}))`;
  }

  async renew(claims: readonly ClaimId[]): Promise<void> {
    // The recorder locks the rows of a batch of answers in another order than this statement. Each would wait for the other until the database ends
    // one of them after a second, and so would all that waits for the accounts of the batch. A row that is locked is being answered, or renewed.
    // Both uses of the table use idempotent_requests_running.
    await this.#database`
      with unlocked as (
        select claim from idempotent_requests
        where answered_at is null
          and claim in (select value::uuid from jsonb_array_elements_text(${this.#database.json([...claims])}))
        for update skip locked
      )
      update idempotent_requests set renewed_at = now()
      where answered_at is null and claim in (select claim from unlocked)`;
  }

  now(): Promise<Date> {
    return readDatabaseClock(this.#database);
  }

  /**
   * Deletes the claims of earlier lives of this node. Call it at start, when their journal is in the database. Claims of this
   * life may exist already; they are newer.
   */
  async clear(spender: SpenderId): Promise<void> {
    await this.#database`
      delete from idempotent_requests
      where node_id = ${this.#nodeId} and answered_at is null and (spender is null or spender < ${spender})`;
  }
}

function outcomeOf(row: Row, bodyDigest: Uint8Array): ClaimOutcome {
  if (!Buffer.from(row.body_digest).equals(bodyDigest)) return { kind: "differs" };
  if (row.answered_at === null) return { kind: "running" };
  const { answer, is_stream: isStream, model } = row;
  const isKept = answer !== null && isStream !== null && model !== null;
  return { kind: "answered", answer: isKept ? { isStream, model, text: answer } : null };
}

/** Deletes answers whose retention has ended, and claims of that age whose lease has ended as well. Call it about every hour. */
export async function dropOldAnswers(database: Database): Promise<void> {
  // Both use idempotent_requests_by_age. The retention of an answer that was stored while the database's clock was ahead begins here.
  await database`
    update idempotent_requests set created_at = now() where created_at > now() + interval '1 minute'`;
  await deleteInBatches(database, {
    from: "idempotent_requests",
    where: database`
      created_at < now() - ${KEPT_MS} * interval '1 millisecond'
      and (answered_at is not null or renewed_at < now() - ${CLAIM_LEASE_MS} * interval '1 millisecond')`,
    batchRows: DELETE_BATCH,
  });
}
