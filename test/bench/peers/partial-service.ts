// The service from its sources, without the parts that WITHOUT names: what they cost is the difference. Nothing but a measurement
// may run this.
import process from "node:process";
import { Access } from "../../../server/src/access/access.ts";
import { PostgresAudit } from "../../../server/src/audit/audit-store.ts";
import { Recorder } from "../../../server/src/audit/recorder.ts";
import { Credits } from "../../../server/src/credits/credits.ts";
import { Metrics } from "../../../server/src/metrics/metrics.ts";

const without: Readonly<Record<string, () => void>> = {
  limits: () => {
    Access.prototype.authorizeAndAdmit = Access.prototype.authorize;
  },
  credit: () => {
    Credits.prototype.holdAtOnce = (_, { maxNanoUsd }) => ({
      amountNanoUsd: maxNanoUsd,
      spender: null,
      settle: () => {},
    });
  },
  journal: () => {
    const begun = { whenWritten: Promise.resolve(0), writtenIn: null };
    Recorder.prototype.begin = () => begun;
    Recorder.prototype.record = async () => ({ stored: null });
  },
  "log in the database": () => {
    PostgresAudit.prototype.insertEntries = async () => [];
  },
  metrics: () => {
    Metrics.prototype.ended = () => {};
  },
};

for (const part of (process.env.WITHOUT ?? "").split(",")) without[part]?.();
await import("../../../server/src/main.ts");
