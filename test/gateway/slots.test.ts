import { beforeEach, describe, expect, it } from "vitest";
import { catalogOf, uncatalogued } from "../../server/src/catalog/catalog.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { Failure } from "../../server/src/errors/failure.ts";
import { Gateway } from "../../server/src/gateway/gateway.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { type Dialect, UpstreamRefused, type WholeAnswer } from "../../server/src/upstream/dialect.ts";
import { upstreamOf } from "../dialects/dialect.ts";

const MODEL = { ...uncatalogued("acme", "chat", new Date(0)), id: "acme/chat" };
const ANSWER = { kind: "whole", body: "{}", usage: null, ignored: [] } as unknown as WholeAnswer;
const OPEN_MS = 1_000;

let nowMs: number;
/** The requests that the upstream has, which a test answers or refuses. */
let calls: { readonly resolve: (answer: WholeAnswer) => void; readonly reject: (reason: unknown) => void }[];
let gateway: Gateway;

// An upstream with one slot, whose breaker opens at its first failure.
beforeEach(() => {
  nowMs = 0;
  calls = [];
  openGateway(1);
});

function openGateway(maxConcurrency: number): void {
  const embed = () =>
    new Promise<WholeAnswer>((resolve, reject) => {
      calls.push({ resolve, reject });
    });
  const upstream = { maxConcurrency, breaker: { failures: 1, openMs: OPEN_MS } };
  gateway = new Gateway({
    catalog: catalogOf([MODEL], [upstreamOf("acme", upstream)]),
    dialects: new Map([["acme", { embed } as unknown as Dialect]]),
    random: Math.random,
    now: () => new Date(nowMs),
    monotonicMs: () => nowMs,
    onCredentialRefused: () => {},
  });
}

function ask(
  signal: AbortSignal = new AbortController().signal,
  accountId = "one" as AccountId,
): Promise<string> {
  const body = JsonBody.parse('{"model":"acme/chat","input":"x"}');
  if (body === null) throw new Error("no body");
  return gateway.embed({ model: MODEL, body, signal, accountId }).then(
    () => "answered",
    () => "failed",
  );
}

/** Until everything has happened that follows without anybody else. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("the slot of an upstream", () => {
  it("is free again if its breaker opened while a request waited for the slot", async () => {
    const first = ask();
    const second = ask();
    await nextTurn();
    expect(calls).toHaveLength(1);
    calls[0]?.reject(new UpstreamRefused(500, new Failure("upstream_error", "broken")));
    expect(await Promise.all([first, second])).toEqual(["failed", "failed"]);
    expect(gateway.health()).toMatchObject([{ breaker: "open", inFlight: 0, waiting: 0 }]);
    nowMs += OPEN_MS + 1;
    const third = ask();
    await nextTurn();
    calls[1]?.resolve(ANSWER);
    expect(await third).toBe("answered");
  });

  it("is not kept for a request that was left while it waited", async () => {
    const first = ask();
    const leaving = new AbortController();
    const second = ask(leaving.signal);
    await nextTurn();
    expect(gateway.health()).toMatchObject([{ inFlight: 1, waiting: 1 }]);
    leaving.abort();
    // Later, its time in the queue would be over.
    await nextTurn();
    expect(gateway.health()).toMatchObject([{ inFlight: 1, waiting: 0 }]);
    expect(await second).toBe("failed");
    calls[0]?.resolve(ANSWER);
    expect(await first).toBe("answered");
    expect(gateway.health()).toMatchObject([{ inFlight: 0, waiting: 0 }]);
  });

  it("is free as soon as its request is left, although the upstream does not end it", async () => {
    const leaving = new AbortController();
    const first = ask(leaving.signal);
    const second = ask();
    await nextTurn();
    leaving.abort();
    await nextTurn();
    calls[1]?.resolve(ANSWER);
    expect(await second).toBe("answered");
    calls[0]?.resolve(ANSWER);
    await first;
    expect(gateway.health()).toMatchObject([{ inFlight: 0, waiting: 0 }]);
  });

  it("goes to another account first, also if one account fills the queue", async () => {
    const flood = Array.from({ length: 129 }, () => ask());
    await nextTurn();
    const others = [1, 2].map(() => ask(undefined, "other" as AccountId));
    await nextTurn();
    expect(gateway.health()).toMatchObject([{ inFlight: 1, waiting: 128 }]);
    expect(await Promise.all(flood.slice(127))).toEqual(["failed", "failed"]);
    for (let number = 0; number < 4; number++) {
      calls[number]?.resolve(ANSWER);
      await nextTurn();
    }
    expect(await Promise.all(others)).toEqual(["answered", "answered"]);
    expect(gateway.health()).toMatchObject([{ inFlight: 1, waiting: 124 }]);
  });

  it("has a short queue: further requests fail at once", async () => {
    const first = ask();
    const waiting = Array.from({ length: 128 }, () => ask());
    await nextTurn();
    expect(await ask()).toBe("failed");
    expect(gateway.health()).toMatchObject([{ inFlight: 1, waiting: 128 }]);
    for (let number = 0; number < 129; number++) {
      calls[number]?.resolve(ANSWER);
      await nextTurn();
    }
    expect(new Set(await Promise.all([first, ...waiting]))).toEqual(new Set(["answered"]));
  });
});

describe("the slots of an upstream", () => {
  const inFlight = () => gateway.health().map((upstream) => upstream.inFlight);
  /** Requests of an account, once they have a slot or wait for one. */
  const begin = async (count: number, account: string) => {
    for (let number = 0; number < count; number++) void ask(undefined, account as AccountId);
    await nextTurn();
  };

  it("are all for one account as long as no other uses the upstream", async () => {
    openGateway(8);
    await begin(8, "one");
    expect(inFlight()).toEqual([8]);
  });

  it("are for one account but for an eighth if another has used the upstream in ten minutes, however long its answers take", async () => {
    openGateway(8);
    await begin(1, "other");
    calls[0]?.resolve(ANSWER);
    await begin(10, "one");
    expect(inFlight()).toEqual([7]);
    await begin(1, "third");
    expect(inFlight()).toEqual([8]);
    calls[8]?.resolve(ANSWER);
    await nextTurn();
    expect(inFlight()).toEqual([7]);
    // A slot of the account itself goes to one of its requests that wait.
    calls[1]?.resolve(ANSWER);
    await nextTurn();
    expect(gateway.health()).toMatchObject([{ inFlight: 7, waiting: 2 }]);
    expect(calls).toHaveLength(10);
    nowMs += 10 * 60_000 + 1;
    await begin(1, "one");
    expect(inFlight()).toEqual([8]);
  });
});
