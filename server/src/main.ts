import { readFile } from "node:fs/promises";
import process from "node:process";
import { destination, type Logger, pino } from "pino";
import { Access } from "./access/access.ts";
import { IpRuleBook } from "./access/ip-rules.ts";
import { parseNetworks } from "./access/networks.ts";
import { AccountAdmin } from "./accounts/account-admin.ts";
import { AttemptLimits } from "./accounts/attempts.ts";
import { ManagementTokens } from "./accounts/management-token.ts";
import { Passwords } from "./accounts/passwords.ts";
import { limitsOf } from "./accounts/plans.ts";
import { SignIn } from "./accounts/sign-in.ts";
import { Admissions } from "./admission/admissions.ts";
import { BodyBudget, shareOut } from "./admission/body-budget.ts";
import { FencedAdmissionStore } from "./admission/fenced-store.ts";
import { PLACE_LEASE_MS } from "./admission/limits.ts";
import { Publisher } from "./admission/publisher.ts";
import { createApp } from "./app.ts";
import { requestIdOf } from "./audit/entry.ts";
import { EntryIds } from "./audit/entry-ids.ts";
import type { Config } from "./config/config.ts";
import { Books } from "./credits/books.ts";
import { Credits } from "./credits/credits.ts";
import type { Uncollected } from "./credits/ledger.ts";
import { releaseOfUnseen } from "./credits/spenders.ts";
import { Dashboard } from "./dashboard/dashboard.ts";
import { Gateway } from "./gateway/gateway.ts";
import { TokenEstimator } from "./gateway/token-estimate.ts";
import { loadTokenizer } from "./gateway/tokenizer.ts";
import { CLAIM_LEASE_MS, Idempotency } from "./idempotency/idempotency.ts";
import { KeyMint } from "./keys/key-string.ts";
import { Keys } from "./keys/keys.ts";
import { answerMetrics } from "./metrics/metrics-endpoint.ts";
import { listAuditEntries } from "./operations/audit.ts";
import { exportAuditEntries } from "./operations/audit-export.ts";
import { chatCompletions } from "./operations/chat-completions.ts";
import { embeddings } from "./operations/embeddings.ts";
import { getModel, listModels } from "./operations/models.ts";
import { getOpenApi } from "./operations/openapi.ts";
import { openApiDocument } from "./operations/openapi-document.ts";
import { forSession, forSessionAsKey } from "./operations/operation.ts";
import { clientAddress } from "./request/client-address.ts";
import { Overload } from "./request/overload.ts";
import { RequestHandler } from "./request/request-handler.ts";
import { CallLimits } from "./rpc/call-limits.ts";
import { accountOfToken } from "./rpc/caller.ts";
import { DashboardSessions } from "./rpc/dashboard-sessions.ts";
import { createRpcHandler } from "./rpc/handler.ts";
import { createAppRouter } from "./rpc/router.ts";
import { withoutSecrets } from "./secrets/redact.ts";
import { SecurityLog } from "./security/security-log.ts";
import { hostForUrl, type Served } from "./serve/listener.ts";
import { startChores } from "./start/chores.ts";
import { Clocks } from "./start/clocks.ts";
import { openDataDir } from "./start/data-dir.ts";
import { createDemoAccount } from "./start/demo.ts";
import { createFirstOperator } from "./start/first-operator.ts";
import { greeting } from "./start/greeting.ts";
import { joinNodes, nodeId, nodeLabel } from "./start/node-membership.ts";
import { openAudit } from "./start/open-audit.ts";
import { openCatalog } from "./start/open-catalog.ts";
import { measure, openMetrics } from "./start/open-metrics.ts";
import { openAdmissionStore, openAttemptCounters, openConfiguredDatabase } from "./start/open-stores.ts";
import { readSettings, type Settings } from "./start/read-settings.ts";
import { whatDoesNotAnswer } from "./start/readiness.ts";
import { listen, openTracing, openTransport } from "./start/runtime.ts";
import { Shutdown, STOP_MS } from "./start/shutdown.ts";
import { explainStartup } from "./start/startup-failure.ts";
import { Teardown } from "./start/teardown.ts";
import { PostgresAccounts } from "./store/accounts-store.ts";
import { PostgresActions } from "./store/actions-store.ts";
import { makeAuditPartitions } from "./store/audit-partitions.ts";
import { CSV_FIELDS } from "./store/audit-reader.ts";
import { dropOldEntries } from "./store/audit-retention.ts";
import { PostgresBooks } from "./store/books-store.ts";
import { PostgresCredit } from "./store/credit-store.ts";
import { lockDataDir } from "./store/data-dir-lock.ts";
import { BACKGROUND_TIMEOUT_MS } from "./store/database.ts";
import { readDatabaseClock } from "./store/database-clock.ts";
import { dropOldAnswers, PostgresIdempotency } from "./store/idempotency-store.ts";
import { keyMarkSecret } from "./store/installation-store.ts";
import { dropOldUsage } from "./store/key-usage.ts";
import { PostgresKeys } from "./store/keys-store.ts";
import { PostgresLedger } from "./store/ledger-store.ts";
import { migrate } from "./store/migrate.ts";
import { PostgresNodes } from "./store/nodes-store.ts";
import { dropOldSecurityEvents, PostgresSecurity } from "./store/security-store.ts";
import { PostgresManagementTokens } from "./store/tokens-store.ts";
import { PostgresUsers } from "./store/users-store.ts";
import { PostgresUnpublishedVersions } from "./store/versions-store.ts";
import { AiSdkDialect } from "./upstream/ai-sdk/dialect.ts";
import { OpenAiDialect } from "./upstream/openai/dialect.ts";
import { SandboxDialect } from "./upstream/sandbox/dialect.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** An event loop that is later than this, on average, has more to do than it can. */
const MOST_LAG_MS = 1_000;
/** Hours of usage that are compared with the entries now and then; more on request. */
const BOOK_HOURS = 2;
/** What is cut off at the end of the drain time still has to be told and recorded. */
const LAST_WORDS_MS = 2_000;
/** Background jobs are asked to end, and not waited for: what they do is done again by the next start. */
const JOBS_TIMEOUT_MS = 500;

async function start(settings: Settings, log: Logger, teardown: Teardown, shutdown: Shutdown): Promise<void> {
  const { config, plans } = settings;
  const now = () => new Date();
  await openDataDir(config.dataDir);
  const lock = await lockDataDir(config.dataDir);
  teardown.add("data folder", () => lock.release());

  const manifest = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { version }: { version: string } = JSON.parse(manifest);
  const transport = await openTransport();
  teardown.add("transport", () => transport.close());
  const { catalog, watch } = await openCatalog(config, settings.catalogFile, { transport, now, log });
  const dashboard = await Dashboard.load(new URL("../../dashboard-ui/dist/", import.meta.url), {
    isHttps: config.publicUrl?.startsWith("https:") ?? false,
  });

  const { database, longReads, recording, ping, label, close } = await openConfiguredDatabase(config, log);
  teardown.add("database", close);
  await migrate(database, new URL("./store/migrations/", import.meta.url));
  const clocks = new Clocks({ databaseNow: () => readDatabaseClock(database), now, log });
  await makeAuditPartitions(database, await clocks.compare());

  const mint = new KeyMint(await keyMarkSecret(database));
  const id = await nodeId(config.dataDir);
  const { store, redis, redisMemory } = await openAdmissionStore(config, log);
  const admission = new FencedAdmissionStore(store);
  teardown.add("admission store", () => admission.close());
  const membership = await joinNodes(config, {
    id,
    registry: new PostgresNodes(database),
    redis,
    fence: admission,
    log,
    onReplaced: () => {
      log.error("another node has taken over the database: stopping");
      shutdown.begin("replaced");
    },
  });
  teardown.add("membership", () => membership.leave());
  const attemptCounters = await openAttemptCounters(config, log);
  teardown.add("attempt counters", () => attemptCounters.close());

  const creditStore = new PostgresCredit(database, id, nodeLabel(config.dataDir));
  if (config.takeOver) await creditStore.releaseOthers("OSTIARY_TAKE_OVER=1: other nodes have ended");
  const releaseAfterMs = config.creditReleaseAfterS * SECOND_MS;
  // Until the journal is open it may hold anything.
  let owesEntries = () => true;
  const credits = new Credits({
    store: creditStore,
    monotonicMs: () => performance.now(),
    maxCutOffMs: releaseAfterMs === 0 ? null : 0.9 * releaseAfterMs,
    owesEntries: () => owesEntries(),
  });
  // This life's spender comes first: it is newer than whatever the journal of former lives names.
  const spender = await credits.open();
  const keysStore = new PostgresKeys(database, longReads);
  const accounts = new PostgresAccounts(database);
  const metrics = openMetrics(catalog);
  const idempotencyStore = new PostgresIdempotency(database, id, () => credits.spender);
  const idempotency = new Idempotency(idempotencyStore);
  const { recorder, journal, journalRepair, auditLog, auditChain, auditTail, usage, reads } = await openAudit(
    config,
    {
      recording,
      longReads,
      nodeId: id,
      log,
      onRecorded: (entry) => metrics.ended(entry),
      onUncollected: (uncollected) => {
        metrics.uncollected(uncollected);
        log.warn(uncollectedForLog(uncollected), "part of a charge could not be collected");
      },
      onCommitted: (entries) => {
        credits.committed(entries);
        idempotency.committed(entries);
      },
      // What they cost stays reserved while their lines are set aside (`owesEntries`), and no longer.
      onSetAside: (entries) => credits.committed(entries),
    },
  );
  owesEntries = () => journal.rejectedLines() > 0;
  // What former lives of this node had reserved or claimed is charged or answered by now, or came to nothing.
  await credits.closeFormer();
  await idempotencyStore.clear(spender);
  teardown.add("credit", () => credits.stop());
  teardown.add("recorder", () => recorder.stop());
  const securityLog = new SecurityLog(new PostgresSecurity(database), now);
  teardown.add("security events", () => securityLog.flush());

  const publisher = new Publisher(admission, new PostgresUnpublishedVersions(database));
  const ipRules = new IpRuleBook();
  const admissions = new Admissions(admission);
  const access = new Access({
    lookup: keysStore,
    admission,
    admissions,
    limitsOf: (account) => limitsOf(plans, account),
    recogniser: mint,
    ipRules,
  });
  const flushed = () => recorder.flushed();
  const keys = new Keys({ store: keysStore, publisher, mint, flushed, reads, now });
  const signIn = new SignIn({
    store: new PostgresUsers(database),
    passwords: new Passwords(),
    attempts: new AttemptLimits(attemptCounters.counter),
    plans,
    security: securityLog,
    now,
  });
  const managementTokens = new ManagementTokens(new PostgresManagementTokens(database), securityLog, now);
  const actions = new PostgresActions(database);
  const accountAdmin = new AccountAdmin({ store: accounts, actions, publisher, signIn, ipRules, now });
  const callerParts = { access, ipRules, managementTokens, signIn, security: securityLog };
  const aiSdk = new AiSdkDialect({ transport, now });
  const gateway = new Gateway({
    catalog,
    dialects: {
      openai: new OpenAiDialect(transport),
      anthropic: aiSdk,
      google: aiSdk,
      "ai-sdk": aiSdk,
      sandbox: new SandboxDialect({ now }),
    },
    random: Math.random,
    now,
    monotonicMs: () => performance.now(),
    onCredentialRefused: (upstream) => {
      securityLog.note({ kind: "upstream_credential_refused", upstream });
      log.error(
        { upstream },
        "an upstream refuses the service's credential: requests to it fail until the credential is corrected",
      );
    },
  });
  const modelParts = {
    gateway,
    estimator: new TokenEstimator(loadTokenizer),
    maxBodyBytes: config.maxBodyBytes,
    monotonicMs: () => performance.now(),
  };
  const trustedProxies = parseNetworks(config.trustedProxies).networks;
  const tracing = await openTracing(config, { version, id });
  teardown.add("tracing", () => tracing.close());
  let publicUrl: string | null = config.publicUrl;
  const ids = new EntryIds(Date.now);
  const newId = () => ids.next();
  const bodies = new BodyBudget(shareOut(config.maxUnfinishedBodyBytes, config.maxBodyBytes));
  const overload = new Overload(MOST_LAG_MS, () => performance.now());
  const chat = chatCompletions(modelParts);
  const auditExport = exportAuditEntries(auditLog, CSV_FIELDS);
  const requests = new RequestHandler({
    operations: [
      chat,
      embeddings(modelParts),
      listModels(catalog),
      getModel(catalog),
      listAuditEntries(auditLog),
      getOpenApi(() => openApiDocument({ name: config.serviceName, version, url: publicUrl ?? "/" })),
      auditExport,
      forSessionAsKey(chat, "/dashboard/chat/completions"),
      forSession(auditExport, "/dashboard/audit/export"),
    ],
    access,
    catalog,
    credits,
    idempotency,
    bodies,
    overload,
    security: securityLog,
    traced: (entry, traceparent) => tracing.ended(entry, traceparent),
    accountOfToken: (token, visit) => accountOfToken(callerParts, token, visit),
    sessions: new DashboardSessions(signIn, config.publicUrl),
    recorder,
    trustedProxies,
    log,
    newId,
    monotonicMs: () => performance.now(),
  });
  const background = longReads.withTimeout(BACKGROUND_TIMEOUT_MS);
  const callLimits = new CallLimits(() => performance.now());
  const books = new Books(new PostgresBooks(background), credits, now);
  measure(metrics, {
    recorder,
    journal,
    credits,
    books,
    requests,
    bodies,
    overload,
    gateway,
    clocks,
    admission,
    redisMemory,
    callLimits,
    reads,
  });

  // What is served needs the public address, which with PORT=0 is known only once the socket is there.
  let web: Served["web"] = async () => new Response("starting\n", { status: 503 });
  const served: Served = {
    requests,
    web: (request, peer) => web(request, peer),
    newRequestId: () => requestIdOf(newId()),
  };
  const listener = await listen(served, config);
  // What is held and claimed for requests is kept until the last has ended.
  let chores: { stop(): Promise<void> } | null = null;
  const stopJobs = async () => chores?.stop();
  teardown.add("background jobs", stopJobs, () => JOBS_TIMEOUT_MS);
  const drainMs = config.drainS * 1_000;
  const drain = async () => {
    listener.retire();
    await shutdown.pause(shutdown.prestopMs);
    auditTail.close();
    const closed = listener.close(drainMs + LAST_WORDS_MS);
    // Requests whose clients have left have no connection that the listener could wait for.
    const ended = Promise.all([closed, requests.idle()]);
    const cut = shutdown.pause(drainMs).then(() => {
      requests.abortAll();
      return after(LAST_WORDS_MS);
    });
    await Promise.race([ended, cut]);
  };
  teardown.add("requests under way", drain, () => shutdown.prestopMs + drainMs + LAST_WORDS_MS + SECOND_MS);
  const listensOn = `http://${hostForUrl(config.host)}:${listener.port}`;
  publicUrl = config.publicUrl ?? listensOn;
  const router = createAppRouter({
    signIn,
    signUpIsOpen: config.signUp === "open",
    accounts,
    accountAdmin,
    ipRules,
    plans,
    admission,
    keys,
    managementTokens,
    auditLog,
    auditChain,
    auditTail,
    ledger: new PostgresLedger(database),
    books,
    spenders: creditStore,
    gateway,
    charged: flushed,
    usage,
    reads,
    securityLog,
    journalRepair,
    catalog,
    service: { serviceName: config.serviceName, publicUrl },
    warnings: config.warnings,
  });
  const addressOf = (request: Request, peer: string) =>
    clientAddress(peer, request.headers.get("x-forwarded-for")?.split(",") ?? [], trustedProxies);
  const metricsAccess = {
    readers: parseNetworks(config.metricsFrom).networks,
    clientAddress: addressOf,
    isTrustedProxy: (peer: string) => trustedProxies.contains(peer),
  };
  // The first operator and the demo account are part of what a start makes.
  let isStarted = false;
  const missingPart = whatDoesNotAnswer({
    database: ping,
    "admission store": () => admission.ping(),
    journal: () => journal.check(),
  });
  web = createApp({
    rpc: createRpcHandler({
      router,
      ...callerParts,
      bodies,
      recorder,
      callLimits,
      newId,
      now,
      clientAddress: addressOf,
      log,
      publicOrigin: config.publicUrl,
    }),
    metrics: (request, peer) => answerMetrics(metrics, metricsAccess, request, peer),
    dashboard,
    newId,
    log,
    notReady: async () => {
      if (shutdown.hasBegun) return "stopping";
      return isStarted ? await missingPart() : "starting";
    },
  });

  const releaseUnseen = releaseOfUnseen({
    store: creditStore,
    unseenMs: releaseAfterMs,
    monotonicMs: () => performance.now(),
    onReleased: (released) =>
      log.warn({ spender: String(released) }, "released the credit of a node that did not return"),
  });
  chores = startChores(
    [
      { name: "renew the node's registration", everyMs: SECOND_MS, run: () => membership.renew() },
      { name: "check the journal", everyMs: SECOND_MS, run: () => journal.check() },
      { name: "send heartbeats", everyMs: 5 * SECOND_MS, run: async () => requests.sendHeartbeats() },
      { name: "reload the catalog", everyMs: 2 * SECOND_MS, run: async () => watch?.look() },
      { name: "maintain credit", everyMs: SECOND_MS, run: () => credits.maintain() },
      ...(releaseAfterMs === 0
        ? []
        : [{ name: "release credit of absent nodes", everyMs: 30 * SECOND_MS, run: releaseUnseen }]),
      { name: "keep requests' places", everyMs: PLACE_LEASE_MS / 4, run: () => admissions.renew() },
      {
        name: "release slots of requests that ended",
        everyMs: SECOND_MS,
        run: () => admissions.retryReleases(),
      },
      { name: "check Redis's memory policy", everyMs: MINUTE_MS, run: async () => redisMemory?.look() },
      { name: "renew idempotency claims", everyMs: CLAIM_LEASE_MS / 4, run: () => idempotency.renew() },
      { name: "compare clocks", everyMs: MINUTE_MS, run: () => clocks.compare() },
      {
        name: "delete expired answers",
        everyMs: HOUR_MS,
        run: () => clocks.whileAgreed(() => dropOldAnswers(background)),
      },
      { name: "write security events", everyMs: 3 * SECOND_MS, run: () => securityLog.flush() },
      {
        name: "delete expired security events",
        everyMs: HOUR_MS,
        run: () => clocks.whileAgreed((at) => dropOldSecurityEvents(longReads, at)),
      },
      { name: "publish leftover versions", everyMs: SECOND_MS, run: () => publisher.sweep() },
      { name: "drop idle snapshots", everyMs: MINUTE_MS, run: async () => access.dropIdle() },
      {
        name: "delete expired usage",
        everyMs: HOUR_MS,
        run: () => clocks.whileAgreed((at) => dropOldUsage(longReads, at)),
      },
      { name: "reconcile", everyMs: 10 * MINUTE_MS, run: () => books.check(BOOK_HOURS) },
      {
        name: "delete expired audit entries",
        everyMs: HOUR_MS,
        run: () => clocks.whileAgreed((at) => dropOldEntries(longReads, plans, at)),
      },
      {
        name: "create audit partitions",
        everyMs: DAY_MS,
        run: async () => makeAuditPartitions(longReads, await clocks.compare()),
      },
    ],
    log,
  );

  if (watch !== null) {
    const reload = () => {
      watch.look().catch((error: unknown) => log.error({ err: error }, "the catalog file cannot be read"));
    };
    process.on("SIGHUP", reload);
    teardown.add("catalog", async () => void process.off("SIGHUP", reload));
  }
  overload.start();
  teardown.add("overload", async () => overload.stop());

  if (config.firstOperator !== null) await createFirstOperator(signIn, config.firstOperator, log);
  const demo =
    config.demo && (await accounts.isEmpty()) ? await createDemoAccount(signIn, keys, config.dataDir) : null;
  isStarted = true;
  process.stdout.write(
    greeting({
      warnings: config.warnings,
      serviceName: config.serviceName,
      url: publicUrl,
      listensOn,
      database: label,
      models: catalog.models.map((model) => model.id),
      demo,
    }),
  );
}

function uncollectedForLog({ accountId, reason, amountNanoUsd }: Uncollected) {
  return { accountId, reason, amountNanoUsd: amountNanoUsd.toString() };
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

function readEnvironmentFile(): void {
  if (process.env.NODE_ENV === "production") return;
  try {
    process.loadEnvFile(".env");
  } catch {
    // Most folders have none.
  }
}

/** Lines of JSON on standard error. Whatever an error's words hold, no key leaves by them. */
function openLog(level: Config["logLevel"]): Logger {
  return pino({ level, hooks: { streamWrite: withoutSecrets } }, destination({ fd: 2, sync: true }));
}

async function main(): Promise<void> {
  let log = openLog("info");
  const teardown = new Teardown();
  let shutdown: Shutdown | null = null;
  try {
    readEnvironmentFile();
    const settings = await readSettings(process.env);
    const { config } = settings;
    log = openLog(config.logLevel);
    for (const line of [...config.unknownSettings, ...config.warnings]) log.warn(line);
    shutdown = shutdownOf(config, log, teardown);
    await start(settings, log, teardown, shutdown);
  } catch (error) {
    // A signal during the start has closed what the start was about to use. The shutdown ends the process.
    if (shutdown?.hasBegun) return;
    log.debug({ err: error }, "start failed");
    process.stderr.write(`${explainStartup(error)}\n`);
    const endMs = performance.now() + STOP_MS;
    await teardown.run(log, () => endMs - performance.now());
    process.exit(1);
  }
}

function shutdownOf(config: Config, log: Logger, teardown: Teardown): Shutdown {
  const shutdown = new Shutdown({
    times: config,
    log,
    end: () => void teardown.run(log, () => shutdown.leftMs()).then(() => process.exit(0)),
    overdue: () => {
      log.fatal({ part: teardown.current }, "the shutdown deadline has passed: the process exits now");
      process.exit(1);
    },
  });
  process.on("SIGTERM", () => shutdown.begin("SIGTERM"));
  process.on("SIGINT", () => shutdown.begin("SIGINT"));
  return shutdown;
}

await main();
