import { SANDBOX_MAX_CONCURRENCY } from "../../catalog/catalog.ts";
import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import type { DialectDefinition } from "../dialect.ts";
import { sandboxDialect } from "./sandbox-dialect.ts";

/** Models that need no provider: they answer in process. */
export const sandbox: DialectDefinition = {
  name: "sandbox",
  settings: { timeouts: UPSTREAM_SETTINGS.timeouts },
  isSandbox: true,
  fixed: { baseUrl: "sandbox:", maxConcurrency: SANDBOX_MAX_CONCURRENCY },
  open: ({ now }) => sandboxDialect({ now }),
};
