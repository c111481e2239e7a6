import { setTimeout } from "node:timers/promises";
import type { AuditTail } from "../audit/audit-tail.ts";
import { requestIdOf } from "../contract/entry.ts";
import { hostForUrl, type Served } from "../http/listener.ts";
import type { OpenRequests } from "./open-requests.ts";
import { listen } from "./runtime.ts";
import { SECOND_MS, type Startup } from "./startup.ts";

/** Requests that are aborted at the end of the drain time have this long to be answered and recorded. */
const ABORTED_MS = 2_000;
/** How long background jobs have to end. The next start repeats their work. */
const JOBS_TIMEOUT_MS = 500;

/**
 * Listens on the configured address. Requests under `/v1` are answered at once, all others with 503 until `serveWeb` is called.
 *
 * @throws {StartupFailure} when the address can't be listened on.
 */
export async function serve(
  startup: Startup,
  { requests, newId }: OpenRequests,
  auditTail: AuditTail,
): Promise<{ readonly listensOn: string; readonly serveWeb: (web: Served["web"]) => void }> {
  const { settings, jobs, teardown, shutdown } = startup;
  const { config } = settings;
  let web: Served["web"] = async () => new Response("starting\n", { status: 503 });
  const listener = await listen(
    { requests, web: (request, peer) => web(request, peer), newRequestId: () => requestIdOf(newId()) },
    { ...config, sharesPort: startup.worker !== null },
  );
  // Jobs keep what is held and claimed for requests until the last has ended.
  teardown.add(
    "background jobs",
    () => jobs.stop(),
    () => JOBS_TIMEOUT_MS,
  );
  const drainMs = config.drainS * SECOND_MS;
  const drain = async () => {
    listener.retire();
    await shutdown.pause(shutdown.prestopMs);
    auditTail.close();
    const closed = listener.close(drainMs + ABORTED_MS);
    // Requests whose clients have disconnected have no connection that the listener could wait for.
    const ended = Promise.all([closed, requests.idle()]);
    const aborted = shutdown.pause(drainMs).then(() => {
      requests.abortAll();
      return setTimeout(ABORTED_MS, undefined, { ref: false });
    });
    await Promise.race([ended, aborted]);
  };
  teardown.add("requests", drain, () => shutdown.prestopMs + drainMs + ABORTED_MS + SECOND_MS);
  return {
    listensOn: `http://${hostForUrl(config.host)}:${listener.port}`,
    serveWeb: (opened) => {
      web = opened;
    },
  };
}
