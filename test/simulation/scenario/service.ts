import { pino } from "pino";
import { Access } from "../../../server/src/access/access.ts";
import { IpRuleBook } from "../../../server/src/accounts/ip-rules.ts";
import { Admissions } from "../../../server/src/admission/admissions.ts";
import { BodyBudget, shareOut } from "../../../server/src/admission/body-budget.ts";
import { Publisher } from "../../../server/src/admission/publisher.ts";
import { EntryIds } from "../../../server/src/audit/entry-ids.ts";
import { Recorder } from "../../../server/src/audit/recorder.ts";
import { SLOT_LEASE_MS } from "../../../server/src/contract/limits.ts";
import { BUILT_IN_PLANS, limitsOf } from "../../../server/src/contract/plans.ts";
import { Credits } from "../../../server/src/credits/credits.ts";
import { Reads } from "../../../server/src/database/reads.ts";
import { resultWithin } from "../../../server/src/errors/deadline.ts";
import { FaultLog } from "../../../server/src/errors/fault-log.ts";
import { Gateway } from "../../../server/src/gateway/gateway.ts";
import { CLAIM_LEASE_MS, Idempotency } from "../../../server/src/idempotency/idempotency.ts";
import { KeyMint } from "../../../server/src/keys/key-string.ts";
import { Keys } from "../../../server/src/keys/keys.ts";
import { parseNetworks } from "../../../server/src/networks/networks.ts";
import { chatCompletions } from "../../../server/src/operations/chat-completions.ts";
import { Overload } from "../../../server/src/overload/overload.ts";
import { TurnShares } from "../../../server/src/overload/turn-shares.ts";
import { CrossOrigin } from "../../../server/src/request/cross-origin.ts";
import { OperationTable } from "../../../server/src/request/find-operation.ts";
import { RequestHandler } from "../../../server/src/request/request-handler.ts";
import { SEAL_KEY_BYTES, Sealer } from "../../../server/src/secrets/sealer.ts";
import { TokenEstimator } from "../../../server/src/tokens/token-estimate.ts";
import type { Dialect } from "../../../server/src/upstream/dialect.ts";
import type { SimulatedDatabase } from "../stores/database.ts";
import { openJournal } from "../stores/journal.ts";
import { admissionStoreOver, type SimulatedRedis } from "../stores/redis.ts";
import type { ReintroducedFaults } from "../stores/reintroduced-faults.ts";
import type { Disk } from "../world/disk.ts";
import type { Link } from "../world/wire.ts";
import type { Life, World } from "../world/world.ts";
import type { Pace } from "./pace.ts";
import { CATALOG } from "./upstream.ts";

const SECOND_MS = 1_000;
const MAX_BODY_BYTES = 100_000;
const UNFINISHED_BODY_BYTES = 100_000_000;
const DRAIN_MS = 3_000;
const CLOSED_WITHIN_MS = 2_000;

export interface ServiceParts {
  readonly world: World;
  readonly life: Life;
  readonly pace: Pace;
  readonly nodeId: string;
  readonly disk: Disk;
  readonly database: SimulatedDatabase;
  readonly databaseLink: Link;
  readonly redis: SimulatedRedis;
  readonly redisLink: Link;
  readonly faults: ReintroducedFaults;
  readonly dialect: Dialect;
}

/** The parts of a running service that a scenario uses, or looks into when all is over. */
export interface Service {
  readonly requests: RequestHandler;
  readonly keys: Keys;
  readonly credits: Credits;
  readonly recorder: Recorder;
  /** Ends what it is doing, as on SIGTERM. */
  stop(): Promise<void>;
}

const log = pino({ level: "silent" });
const NOBODY = parseNetworks([]).networks;

/** Starts the service as `service.ts` does, on simulated stores: the classes are the real ones. Resolves when it serves. */
export async function startService(parts: ServiceParts): Promise<Service> {
  const { world, life, pace, nodeId, disk, database, databaseLink, redis, redisLink, faults, dialect } =
    parts;
  const now = () => new Date();
  const monotonicMs = () => performance.now();
  const admissionStore = admissionStoreOver(redisLink, redis, faults);
  const admissions = new Admissions(admissionStore);
  const credits = new Credits({
    store: database.creditStore(databaseLink, nodeId),
    monotonicMs,
    passedMs: monotonicMs,
    maxDisconnectedMs: null,
    owesEntries: () => recorder.owesEarlierEntries,
  });
  const spender = await credits.open();
  const idempotencyStore = database.idempotencyStore(databaseLink, nodeId, () => credits.spender);
  const sealer = new Sealer([new Uint8Array(SEAL_KEY_BYTES)]);
  const idempotency = new Idempotency(idempotencyStore, sealer);
  const { journal, leftover } = openJournal(world, life, disk);
  const recorder = new Recorder({
    journal,
    sink: database.entrySink(databaseLink),
    durability: "journal",
    log,
    onLeftByEarlier: (entries) => idempotency.resume(entries),
    onCommitted: (entries) => {
      credits.committed(entries);
      idempotency.forget(entries);
    },
  });
  await recorder.replay(leftover);
  await resultWithin(CLOSED_WITHIN_MS, credits.closeOlder());
  if (!recorder.owesEarlierEntries) await idempotencyStore.clear(spender);
  const publisher = new Publisher(admissions, database.unpublishedVersions(databaseLink));
  const access = new Access({
    lookup: database.keyLookup(databaseLink),
    admissions,
    limitsOf: (account) => limitsOf(BUILT_IN_PLANS, account),
    mint: { hasMinted: () => true },
    ipRules: new IpRuleBook(),
  });
  const keys = new Keys({
    store: database.keyStore(databaseLink),
    publisher,
    mint: new KeyMint(new Uint8Array(32)),
    tryFlush: (accountId) => recorder.tryFlush(accountId),
    reads: new Reads(monotonicMs),
    now,
  });
  const gateway = new Gateway({
    catalog: CATALOG,
    dialects: new Map([["openai", dialect]]),
    random: Math.random,
    now,
    monotonicMs,
    onCredentialRefused: () => {},
  });
  const ids = new EntryIds(Date.now);
  const turnShares = new TurnShares(monotonicMs, (run) => setImmediate(run));
  const requests = new RequestHandler({
    operations: new OperationTable([
      chatCompletions({
        gateway,
        estimator: new TokenEstimator(notAsked),
        maxBodyBytes: MAX_BODY_BYTES,
        monotonicMs,
        sealer,
      }),
    ]),
    access,
    catalog: CATALOG,
    credits,
    idempotency,
    bodies: new BodyBudget(shareOut(UNFINISHED_BODY_BYTES, MAX_BODY_BYTES)),
    overload: new Overload({ monotonicMs, log, turnShares }),
    turnShares,
    security: { note: () => {} },
    trace: () => {},
    accountOfToken: () => notAsked(),
    accessLog: null,
    sessions: { accountOf: () => notAsked(), requireSameOrigin: () => {} },
    recorder,
    trustedProxies: NOBODY,
    crossOrigin: new CrossOrigin([]),
    log,
    faults: new FaultLog({ log, monotonicMs }),
    compress: async () => null,
    newId: () => ids.next(),
    monotonicMs,
  });
  const idleMs = 60 * SECOND_MS;
  const always = (everyMs: number) => ({ everyMs, idleMs: everyMs });
  pace.start(life, { everyMs: SECOND_MS, idleMs, run: () => credits.renew() });
  pace.start(life, { everyMs: SECOND_MS, idleMs, run: () => credits.releaseReclaimed() });
  pace.start(life, { everyMs: SECOND_MS, idleMs, run: () => credits.releaseIdle() });
  pace.start(life, { everyMs: SECOND_MS, idleMs, run: () => credits.closeDrained() });
  pace.start(life, { everyMs: 4 * SECOND_MS, idleMs, run: () => publisher.sweep() });
  pace.start(life, { everyMs: SECOND_MS, idleMs, run: () => admissionStore.claim() });
  pace.start(life, { ...always(SLOT_LEASE_MS / 4), run: () => admissions.renew() });
  pace.start(life, { everyMs: SECOND_MS, idleMs, run: () => admissions.retryReleases() });
  pace.start(life, { everyMs: SECOND_MS, idleMs, run: () => admissions.recount() });
  pace.start(life, { everyMs: SECOND_MS, idleMs: CLAIM_LEASE_MS / 4, run: () => idempotency.renew() });
  pace.start(life, { ...always(5 * SECOND_MS), run: () => idempotency.watchClock() });
  pace.start(life, { everyMs: SECOND_MS, idleMs, run: () => idempotency.retryReleases() });
  pace.start(life, { everyMs: SECOND_MS, idleMs, run: () => recorder.recordUnwritten() });
  const stop = async () => {
    const cut = setTimeout(() => requests.abortAll(), DRAIN_MS);
    await requests.untilIdle();
    clearTimeout(cut);
    // One that fails does not keep the others from being done.
    for (const end of [() => pace.stop(life), () => recorder.stop(), () => credits.stop()]) {
      await end().catch(() => {});
    }
  };
  return { requests, keys, credits, recorder, stop };
}

function notAsked(): never {
  throw new Error("no scenario asks for this");
}
