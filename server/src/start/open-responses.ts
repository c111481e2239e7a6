import { HOUR_MS } from "../../../sdk/src/contract/time-units.ts";
import { responsesKey } from "../database/installation-store.ts";
import { reasonOf } from "../errors/problems.ts";
import { dropExpiredResponses, ResponseStore } from "../responses/response-store.ts";
import { Sealer } from "../secrets/sealer.ts";
import { CONNECTIONS } from "./open-database.ts";
import type { OpenNode } from "./open-node.ts";
import { atMostOnceIn } from "./repeated-messages.ts";
import type { Startup } from "./startup.ts";

/** How often a response that was not stored is logged for the same reason. */
const REPEATED_WARNING_MS = 10_000;

export type OpenResponses = Awaited<ReturnType<typeof openResponses>>;

/** Opens the stored responses, and the sealer that encrypts them, answers to idempotency keys, and what clients carry for the service. */
export async function openResponses(
  { settings: { config }, log, jobs, monotonicMs }: Startup,
  { database, longReads, responses, clocks }: OpenNode,
) {
  const { responsesKeys, responsesTtlDays: ttlDays } = config;
  const own = await responsesKey(database, { isNeeded: responsesKeys.length === 0 });
  // Data that was sealed before the operator set a key can still be opened.
  const sealer = new Sealer(own === null ? responsesKeys : [...responsesKeys, own]);
  const responseStore = new ResponseStore({
    database: responses,
    maxConnections: CONNECTIONS.responses,
    sealer,
    ttlDays,
    maxHistoryBytes: config.maxBodyBytes,
    onUnreadable: () =>
      log.error(
        "a stored response cannot be decrypted and is answered as unknown, and so will others be: set the same OSTIARY_RESPONSES_KEY on every node, and after a change add the former key after the new one",
      ),
  });
  jobs.add({
    name: "delete expired responses",
    everyMs: HOUR_MS,
    run: () => clocks.whileAgreed(() => dropExpiredResponses(longReads, ttlDays)),
  });
  const warn = atMostOnceIn(REPEATED_WARNING_MS, monotonicMs, (_, error: unknown) =>
    log.warn(reasonOf(error), "a response was not stored, and its client was told so"),
  );
  // While the database is away, no response is stored.
  const onNotStored = (error: unknown) => warn(reasonOf(error).reason ?? "", error);
  return { responseStore, sealer, onNotStored };
}
