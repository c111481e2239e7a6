import { MINUTE_MS, SECOND_MS } from "../../../sdk/src/contract/time-units.ts";
import { Access } from "../access/access.ts";
import { AccountAdmin } from "../accounts/account-admin.ts";
import { AttemptLimits } from "../accounts/attempts.ts";
import { CredentialLookups } from "../accounts/credential-lookups.ts";
import { IpRuleBook } from "../accounts/ip-rules.ts";
import { ManagementTokens } from "../accounts/management-token.ts";
import { Passwords } from "../accounts/passwords.ts";
import { SignIn } from "../accounts/sign-in.ts";
import { PostgresUsers } from "../accounts/users-store.ts";
import { Publisher, unpublishedVersionsIn } from "../admission/publisher.ts";
import { SLOT_LEASE_MS } from "../contract/limits.ts";
import { limitsOf } from "../contract/plans.ts";
import { KeyMint } from "../keys/key-string.ts";
import { Keys } from "../keys/keys.ts";
import { PostgresKeys } from "../keys/keys-store.ts";
import { openAttemptCounters } from "./open-admission-store.ts";
import type { OpenNode } from "./open-node.ts";
import type { OpenRecords } from "./open-records.ts";
import type { Startup } from "./startup.ts";

export type OpenAccess = Awaited<ReturnType<typeof openAccess>>;

/** Opens authentication and authorization: accounts, keys, management tokens, sign-in and admission. */
export async function openAccess(startup: Startup, node: OpenNode, records: OpenRecords) {
  const { settings, jobs, teardown, now, monotonicMs } = startup;
  const { config, plans } = settings;
  const { database, longReads, admissions } = node;
  const { recorder, reads, securityLog, metrics } = records;
  const mint = new KeyMint(node.macSecret);
  const attemptCounters = await openAttemptCounters(config, node.logRedisError);
  teardown.add("attempt counters", () => attemptCounters.close());

  const publisher = new Publisher(admissions, unpublishedVersionsIn(database), (seconds) =>
    metrics.published(seconds),
  );
  const ipRules = new IpRuleBook();
  const keysStore = new PostgresKeys(database, longReads);
  const access = new Access({
    lookup: keysStore,
    admissions,
    limitsOf: (account) => limitsOf(plans, account),
    mint,
    ipRules,
  });
  const keys = new Keys({
    store: keysStore,
    publisher,
    mint,
    tryFlush: (accountId) => recorder.tryFlush(accountId),
    reads,
    now,
  });
  const signIn = new SignIn({
    store: new PostgresUsers(database),
    passwords: new Passwords(),
    attempts: new AttemptLimits(attemptCounters.counter),
    plans,
    security: securityLog,
    lookups: new CredentialLookups("sessions", monotonicMs),
    now,
  });
  const tokenLookups = new CredentialLookups("management tokens", monotonicMs);
  const managementTokens = new ManagementTokens(database, securityLog, tokenLookups, now);
  const accountAdmin = new AccountAdmin({ database, longReads, publisher, signIn, ipRules, now });
  jobs.add(
    { name: "renew concurrency slots", everyMs: SLOT_LEASE_MS / 4, run: () => admissions.renew() },
    { name: "repeat lost releases of slots", everyMs: SECOND_MS, run: () => admissions.retryReleases() },
    { name: "count lost use of limits again", everyMs: SECOND_MS, run: () => admissions.recount() },
    { name: "publish account versions", everyMs: SECOND_MS, run: () => publisher.sweep() },
    { name: "drop idle key snapshots", everyMs: MINUTE_MS, run: async () => access.dropIdle() },
  );
  return { access, publisher, ipRules, keys, accountAdmin, signIn, managementTokens, security: securityLog };
}
