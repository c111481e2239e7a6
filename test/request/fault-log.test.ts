import pino from "pino";
import { describe, expect, it } from "vitest";
import { Failure } from "../../server/src/errors/failure.ts";
import { FaultLog } from "../../server/src/errors/fault-log.ts";

const FULL = new Failure("server_is_overloaded", "The request cannot be recorded.", {
  cause: new Error("no space left on device"),
});

function openLog() {
  const lines: { msg: string; code: string; model?: string; requests?: number }[] = [];
  let nowMs = 1_000_000;
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const faults = new FaultLog({ log, monotonicMs: () => nowMs });
  return { faults, lines, pass: (ms: number) => (nowMs += ms) };
}

describe("the log of failed requests", () => {
  it("has a line for each of few, and the number of those beyond", () => {
    const { faults, lines, pass } = openLog();
    for (let count = 0; count < 5_000; count++)
      faults.note(FULL, { model: "acme/chat" }, { requestId: `req_${count}` });
    expect(lines).toHaveLength(20);
    expect(lines[0]).toMatchObject({ requestId: "req_0", reason: "no space left on device" });
    pass(9_999);
    faults.report();
    expect(lines).toHaveLength(20);
    pass(1);
    faults.report();
    faults.report();
    expect(lines.slice(20)).toMatchObject([
      { msg: "further requests failed", code: "server_is_overloaded", model: "acme/chat", requests: 4_980 },
    ]);
    faults.note(FULL, { model: "acme/chat" }, { requestId: "req_later" });
    expect(lines.at(-1)).toMatchObject({ msg: "a request failed", requestId: "req_later" });
  });

  it("has lines of each code and model, whatever fails beside them", () => {
    const { faults, lines } = openLog();
    for (let count = 0; count < 100; count++)
      faults.note(FULL, { model: "acme/chat" }, { requestId: "req_1" });
    faults.note(FULL, { model: "acme/other" }, { requestId: "req_2" });
    faults.note(
      new Failure("internal_error", "The service failed."),
      { model: "acme/chat" },
      { requestId: "req_3" },
    );
    faults.note(FULL, {}, { requestId: "req_4" });
    expect(lines.slice(20)).toMatchObject([
      { requestId: "req_2" },
      { requestId: "req_3" },
      { requestId: "req_4" },
    ]);
  });

  it("keeps no more than a thousand kinds apart", () => {
    const { faults, lines, pass } = openLog();
    for (let count = 0; count < 3_000; count++)
      faults.note(FULL, { model: `model-${count}` }, { requestId: "req_1" });
    expect(lines).toHaveLength(1_020);
    pass(10_000);
    faults.report();
    expect(lines.at(-1)).toMatchObject({ requests: 1_980 });
  });
});
