import process from "node:process";
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import { Shutdown } from "./shutdown.ts";
import type { Teardown } from "./teardown.ts";

/** Begins the shutdown on SIGTERM and SIGINT, and ends the process when the teardown has run or its time is over. */
export function stopOnSignals(config: Config, log: Logger, teardown: Teardown): Shutdown {
  const shutdown = new Shutdown({
    times: config,
    log,
    end: () => void teardown.run(log, () => shutdown.leftMs()).then(() => process.exit(0)),
    overdue: () => {
      log.fatal({ part: teardown.current }, "the time to stop is over: the process ends now");
      process.exit(1);
    },
  });
  process.on("SIGTERM", () => shutdown.begin("SIGTERM"));
  process.on("SIGINT", () => shutdown.begin("SIGINT"));
  return shutdown;
}
