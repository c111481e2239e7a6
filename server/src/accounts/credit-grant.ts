import { v7 as uuidv7 } from "uuid";
import type { AccountId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import { type Database, inTransaction, type Transaction } from "../database/database.ts";
import { Failure } from "../errors/failure.ts";
import { recordAction } from "./actions-store.ts";

/** How long nodes have to release reserved credit of the account that they do not need. */
const RECLAIM_TIMEOUT_MS = 3_000;
const RECLAIM_PAUSE_MS = 250;
/** 4.5 billion USD: half of what a bigint holds, so that sums of it can be computed. */
const MAX_BALANCE_NANO_USD = 4_500_000_000_000_000_000n;

/** Credit granted to an account, or taken back. */
export interface CreditGrant {
  readonly by: Actor;
  readonly accountId: AccountId;
  /** Negative: a correction downwards. Never 0. */
  readonly amountNanoUsd: bigint;
  readonly reason: string;
  /** SHA-256 of the idempotency key of the call; `null`: a repeated call is another grant. */
  readonly idempotencyKeyDigest: Uint8Array | null;
}

/** What a grant is answered with. */
export interface GrantedCredit {
  /** The new balance in nano-USD. */
  readonly balanceNanoUsd: bigint;
  /** The granted amount in nano-USD. It is smaller than requested if the account had less to take back. */
  readonly amountNanoUsd: bigint;
}

/**
 * The outcome of a grant. A negative grant is `short` when it exceeds the free credit: nothing is booked, and nodes are asked to
 * release reserved credit that they do not need.
 */
type GrantOutcome =
  | { readonly kind: "booked"; readonly granted: GrantedCredit }
  | { readonly kind: "short"; readonly freeNanoUsd: bigint };

/**
 * Grants credit, or takes back as much as the account has free. Credit that is held for running requests stays. A call that was booked
 * before, by its idempotency key, gets the outcome that it had then.
 *
 * @returns `null` when there is no such account.
 * @throws {Failure} `conflict` when nothing can be taken back; `idempotency_key_reused` when the key was used for another grant.
 */
export async function grantCredits(
  database: Database,
  grant: CreditGrant,
  now: () => Date,
): Promise<GrantedCredit | null> {
  const giveUpMs = performance.now() + RECLAIM_TIMEOUT_MS;
  for (let { amountNanoUsd } = grant; ; ) {
    const outcome = await inTransaction(database, (transaction) =>
      book(transaction, grant, amountNanoUsd, now()),
    );
    if (outcome === null) return null;
    if (outcome.kind === "booked") return outcome.granted;
    if (performance.now() < giveUpMs) {
      await new Promise((resolve) => setTimeout(resolve, RECLAIM_PAUSE_MS));
      continue;
    }
    if (outcome.freeNanoUsd === 0n) throw nothingToTake();
    amountNanoUsd = -outcome.freeNanoUsd;
  }
}

/** Records this amount of a grant completely or not at all. @returns `null` when there is no such account. */
async function book(
  transaction: Transaction,
  grant: CreditGrant,
  amountNanoUsd: bigint,
  at: Date,
): Promise<GrantOutcome | null> {
  const { by, accountId, reason } = grant;
  // The lock has a statement of its own. A statement that waits for it would not see the reserves that were committed meanwhile.
  await transaction`select from accounts where id = ${accountId} for no key update`;
  const [account] = await transaction<{ free: bigint; before: bigint }[]>`
    select free_nano_usd as free, balance_nano_usd(accounts) as before from accounts where id = ${accountId}`;
  if (account === undefined) return null;
  const earlier = await readEarlier(transaction, grant);
  if (earlier !== null) return { kind: "booked", granted: earlier };
  const { free, before } = account;
  if (-amountNanoUsd > free) {
    // Reclaims what nodes have reserved: they release what they do not need within about a second.
    await transaction`update credit_reserves set wanted = true where account_id = ${accountId}`;
    return { kind: "short", freeNanoUsd: free };
  }
  await transaction`
    insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
    values (${uuidv7()}, ${accountId}, ${at}, ${amountNanoUsd > 0n ? "grant" : "adjustment"}, ${amountNanoUsd}, ${reason})`;
  const after = before + amountNanoUsd;
  if (after > MAX_BALANCE_NANO_USD) {
    throw new Failure(
      "invalid_request",
      "amountNanoUsd: would raise the balance above 4.5 billion USD. Grant less.",
      {
        param: "amountNanoUsd",
      },
    );
  }
  await transaction`
    update accounts set free_nano_usd = free_nano_usd + ${amountNanoUsd} where id = ${accountId}`;
  await recordAction(transaction, {
    at,
    by,
    accountId,
    action: "account.grantCredits",
    reason,
    before: { balanceNanoUsd: before.toString() },
    after: { balanceNanoUsd: after.toString(), amountNanoUsd: amountNanoUsd.toString() },
  });
  const granted = { balanceNanoUsd: after, amountNanoUsd };
  await keep(transaction, grant, granted, at);
  return { kind: "booked", granted };
}

/** Returns the outcome of the call that had the same idempotency key; `null` when there was none. */
async function readEarlier(
  transaction: Transaction,
  { accountId, amountNanoUsd, reason, idempotencyKeyDigest }: CreditGrant,
): Promise<GrantedCredit | null> {
  if (idempotencyKeyDigest === null) return null;
  const [row] = await transaction<(GrantedCredit & { requestedNanoUsd: bigint; reason: string })[]>`
    select balance_nano_usd as "balanceNanoUsd", amount_nano_usd as "amountNanoUsd",
           requested_nano_usd as "requestedNanoUsd", reason
    from credit_grants where account_id = ${accountId} and key_digest = ${idempotencyKeyDigest}`;
  if (row === undefined) return null;
  if (row.requestedNanoUsd !== amountNanoUsd || row.reason !== reason) {
    const message = "This idempotency key was used for a different grant. Use a new one for every grant.";
    throw new Failure("idempotency_key_reused", message, { param: "idempotencyKey" });
  }
  return { balanceNanoUsd: row.balanceNanoUsd, amountNanoUsd: row.amountNanoUsd };
}

async function keep(
  transaction: Transaction,
  { accountId, amountNanoUsd, reason, idempotencyKeyDigest }: CreditGrant,
  granted: GrantedCredit,
  at: Date,
): Promise<void> {
  if (idempotencyKeyDigest === null) return;
  await transaction`
    insert into credit_grants
      (account_id, key_digest, at, requested_nano_usd, reason, amount_nano_usd, balance_nano_usd)
    values
      (${accountId}, ${idempotencyKeyDigest}, ${at}, ${amountNanoUsd}, ${reason}, ${granted.amountNanoUsd}, ${granted.balanceNanoUsd})`;
}

function nothingToTake(): Failure {
  return new Failure(
    "conflict",
    "The account has no credit to take back: all of it is spent, or reserved for requests that are being answered. Try again when they have ended.",
  );
}
