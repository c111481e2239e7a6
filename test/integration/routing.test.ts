import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { answerWhole, chunkOf, type ReceivedRequest } from "../fixtures/model-server.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { type RoutedService, startRoutedService } from "./routed-service.ts";
import { failing, upstreamFaults } from "./upstream-faults.ts";

let routed: RoutedService;

beforeAll(async () => {
  routed = await startRoutedService();
});

afterEach(async () => {
  for (const name of Object.keys(routed.answers)) delete routed.answers[name as keyof typeof routed.answers];
  // No test finds an upstream that another one has made fail.
  for (const name of ["one", "two"]) {
    await expect.poll(async () => (await routed.chat(`acme/${name}`)).status).toBe(200);
  }
});

afterAll(() => routed?.[Symbol.asyncDispose]());

async function contentOf(response: Response): Promise<string> {
  return (await response.json()).choices[0].message.content;
}

describe("a model with two routes", () => {
  for (const [index, [what, fault]] of Object.entries(upstreamFaults).entries()) {
    it(`is answered by the second when the first ${what}`, async () => {
      routed.answers.one = fault;
      const isStream = what.includes("stream") || what.includes("chunk");
      routed.answers.two = isStream
        ? ({ response }) => {
            response.setHeader("content-type", "text/event-stream");
            response.end(`${chunkOf({ content: "from two" })}${chunkOf({}, "stop")}data: [DONE]\n\n`);
          }
        : (request) => answerWhole(request, "from two");
      const response = await routed.chat(`acme/fault-${index}`, { stream: isStream });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain("from two");
    });
  }

  it("does not try the second when the request itself is at fault", async () => {
    routed.answers.one = failing(400);
    const before = routed.servers.two.received.length;
    expect((await routed.chat("acme/both")).status).toBe(400);
    expect(routed.servers.two.received.length).toBe(before);
  });

  it("does not try the second once a part of the answer has reached the client", async () => {
    routed.answers.one = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "so far" }), () => response.destroy());
    };
    const before = routed.servers.two.received.length;
    const text = await (await routed.chat("acme/both", { stream: true })).text();
    expect(text).toContain("so far");
    expect(text).toContain('"code":"upstream_error"');
    expect(text).not.toContain("[DONE]");
    expect(routed.servers.two.received.length).toBe(before);
  });

  it("distributes requests by the routes' weights", async () => {
    const before = routed.servers.spare.received.length;
    for (let number = 0; number < 200; number++) await (await routed.chat("acme/weighed")).arrayBuffer();
    const share = (routed.servers.spare.received.length - before) / 200;
    expect(share).toBeGreaterThan(0.1);
    expect(share).toBeLessThan(0.4);
  });
});

describe("an upstream that sends single bytes", () => {
  it("is read like any other", async () => {
    const text = `${chunkOf({ role: "assistant", content: "grüße" })}: comment\r\n\r\n${chunkOf({ content: " 字" })}${chunkOf({}, "stop")}data: [DONE]\n\n`;
    routed.answers.one = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      const bytes = Buffer.from(text);
      const write = (at: number) => {
        if (at === bytes.length) response.end();
        else response.write(bytes.subarray(at, at + 1), () => setImmediate(write, at + 1));
      };
      write(0);
    };
    const answer = await (await routed.chat("acme/one", { stream: true })).text();
    expect(answer).toContain("grüße");
    expect(answer).toContain(" 字");
    expect(answer.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});

describe("an upstream that keeps failing", () => {
  it("gets no requests, then a test request, and all of them once it has recovered", async () => {
    routed.answers.one = failing(500);
    for (let number = 0; number < 3; number++) expect((await routed.chat("acme/one")).status).toBe(502);
    expect((await routed.healthOf("one")).breaker).toBe("open");
    const before = routed.servers.one.received.length;
    const refused = await routed.chat("acme/one");
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(routed.servers.one.received.length).toBe(before);

    const waiting: ReceivedRequest[] = [];
    routed.answers.one = (request) => waiting.push(request);
    await expect.poll(async () => (await routed.healthOf("one")).breaker).toBe("half-open");
    const probe = routed.chat("acme/one");
    await expect.poll(() => waiting.length).toBe(1);
    for (const request of waiting) answerWhole(request);
    expect((await probe).status).toBe(200);
    expect((await routed.healthOf("one")).breaker).toBe("closed");
  });

  it("is tested again when it has recovered and does not answer the first test", async () => {
    routed.answers.one = failing(500);
    for (let number = 0; number < 3; number++) expect((await routed.chat("acme/slow")).status).toBe(502);
    const unanswered: ReceivedRequest[] = [];
    routed.answers.one = (request) => unanswered.push(request);
    const left = new AbortController();
    await expect.poll(async () => (await routed.healthOf("slow")).breaker).toBe("half-open");
    const test = routed.chat("acme/slow", {}, left.signal);
    await expect.poll(() => unanswered.length).toBe(1);
    delete routed.answers.one;
    await expect.poll(async () => (await routed.chat("acme/slow")).status, { timeout: 20_000 }).toBe(200);
    expect((await routed.healthOf("slow")).breaker).toBe("closed");
    left.abort();
    await expect(test).rejects.toThrow();
  });

  it("does not delay requests that another upstream can answer", async () => {
    routed.answers.one = failing(500);
    for (let number = 0; number < 3; number++) expect((await routed.chat("acme/one")).status).toBe(502);
    const before = routed.servers.one.received.length;
    for (let number = 0; number < 5; number++)
      expect(await contentOf(await routed.chat("acme/both"))).toBe("from two");
    expect(routed.servers.one.received.length).toBe(before);
  });

  it("is detected when all it does is break off its answers", async () => {
    routed.answers.one = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "so far" }), () => response.destroy());
    };
    for (let number = 0; number < 3; number++) await (await routed.chat("acme/one", { stream: true })).text();
    expect((await routed.healthOf("one")).breaker).toBe("open");
  });

  it("does not fail by finding the headers too large that clients have it sent", async () => {
    const other = await signUpWithKey(routed.baseUrl);
    routed.answers.one = failing(431);
    for (const key of [undefined, other.key, undefined, other.key, undefined, other.key]) {
      expect((await routed.chat("acme/one", {}, undefined, key)).status).toBe(502);
    }
    expect((await routed.healthOf("one")).breaker).toBe("closed");
  });

  it("at one account's requests answers those of others, and gets none if it fails at theirs, too", async () => {
    const [other, third] = [await signUpWithKey(routed.baseUrl), await signUpWithKey(routed.baseUrl)];
    const statusFor = async (key: string | undefined, fields: object = {}) =>
      (await routed.chat("acme/one", fields, undefined, key)).status;
    const failed = { user: "poison" };
    routed.answers.one = (request) => (request.body.user === "poison" ? failing(500) : answerWhole)(request);
    for (let number = 0; number < 3; number++) expect(await statusFor(undefined, failed)).toBe(502);
    expect(await statusFor(other.key)).toBe(200);
    expect((await routed.healthOf("one")).breaker).toBe("closed");

    await expect.poll(() => statusFor(undefined)).toBe(200);
    for (let number = 0; number < 3; number++) expect(await statusFor(undefined, failed)).toBe(502);
    expect(await statusFor(other.key, failed)).toBe(502);
    expect(await statusFor(third.key)).toBe(503);
  });

  it("is reported to the operator with what is wrong with its answers", async () => {
    const malformed = upstreamFaults["answers nonsense"];
    if (malformed === undefined) throw new Error("there is no such fault");
    routed.answers.one = malformed;
    expect((await routed.chat("acme/one")).status).toBe(502);
    expect((await routed.healthOf("one")).lastFailure?.reason).toBe("the upstream's answer is malformed");
    delete routed.answers.one;
    expect((await routed.chat("acme/one")).status).toBe(200);
  });

  it("is reported to the operator when it refuses the service's credential", async () => {
    routed.answers.one = failing(401);
    expect((await routed.chat("acme/one")).status).toBe(502);
    expect((await routed.healthOf("one")).credentialRefusedAt).toBeInstanceOf(Date);
    const metrics = await (await fetch(`${routed.baseUrl}/metrics`)).text();
    expect(metrics).toContain('ostiary_upstream_credential_refused{upstream="one"} 1');
    delete routed.answers.one;
    expect((await routed.chat("acme/one")).status).toBe(200);
    expect((await routed.healthOf("one")).credentialRefusedAt).toBeNull();
  });
});

describe("an upstream with a maximum concurrency", () => {
  it("gets no more concurrent requests; the others wait for a slot and are answered", async () => {
    const waiting: ReceivedRequest[] = [];
    routed.answers.narrow = (request) => waiting.push(request);
    const asked = Array.from({ length: 6 }, () => routed.chat("acme/narrow"));
    await expect.poll(async () => (await routed.healthOf("narrow")).waiting).toBe(4);
    await expect.poll(() => waiting.length).toBe(2);
    expect(await routed.healthOf("narrow")).toMatchObject({ inFlight: 2, waiting: 4 });
    routed.answers.narrow = (request) => answerWhole(request);
    for (const request of waiting) answerWhole(request);
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(6).fill(200));
    await expect.poll(async () => (await routed.healthOf("narrow")).inFlight).toBe(0);
  });

  it("leaves requests to another route at once, and answers 503 when no slot is freed in time", async () => {
    const waiting: ReceivedRequest[] = [];
    routed.answers.narrow = (request) => waiting.push(request);
    const held = [routed.chat("acme/narrow"), routed.chat("acme/narrow")];
    await expect.poll(() => waiting.length).toBe(2);
    expect(await contentOf(await routed.chat("acme/narrow-or-spare"))).toBe("from spare");
    const late = await routed.chat("acme/narrow");
    expect(late.status).toBe(503);
    expect(late.headers.get("retry-after")).toBe("1");
    for (const request of waiting) answerWhole(request);
    await Promise.all(held);
  });

  it("leaves all requests beyond its maximum to another route", async () => {
    const waiting: ReceivedRequest[] = [];
    routed.answers.narrow = (request) => waiting.push(request);
    const held = [routed.chat("acme/narrow"), routed.chat("acme/narrow")];
    await expect.poll(() => waiting.length).toBe(2);
    const overflowing = await Promise.all(
      Array.from({ length: 40 }, () => routed.chat("acme/narrow-or-spare")),
    );
    expect(overflowing.map(({ status }) => status)).toEqual(Array(40).fill(200));
    for (const request of waiting) answerWhole(request);
    await Promise.all(held);
  });

  it("has its slots freed by clients that disconnect and by streams that are cancelled", async () => {
    routed.answers.narrow = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "first" }));
    };
    for (let round = 0; round < 3; round++) {
      const response = await routed.chat("acme/narrow", { stream: true });
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
    }
    for (let round = 0; round < 3; round++) {
      const leaving = new AbortController();
      const asked = routed.chat("acme/narrow", { stream: true }, leaving.signal);
      await (await asked).body?.getReader().read();
      leaving.abort();
    }
    routed.answers.narrow = (request) => answerWhole(request);
    await expect.poll(async () => (await routed.chat("acme/narrow")).status).toBe(200);
  });
});

describe("a stream whose upstream is silent", () => {
  it("sends heartbeats before and between chunks, and later errors as events", async () => {
    routed.answers.narrow = ({ body, response }) => {
      response.setHeader("content-type", "text/event-stream");
      const isBetween = JSON.stringify(body).includes("between");
      if (isBetween) response.write(chunkOf({ content: "first" }));
      else response.flushHeaders();
    };
    const open = (content: string) =>
      routed.chat("acme/narrow", { stream: true, messages: [{ role: "user", content }] });
    const untilSign = async (content: string) => {
      const response = await open(content);
      expect(response.status).toBe(200);
      let text = "";
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        if (text.includes(": waiting\n\n")) break;
      }
      return text;
    };
    // An error after a heartbeat is reported with its own code.
    routed.answers.one = ({ response }) =>
      void setTimeout(() => failing(400)({ response } as ReceivedRequest), 15_500);
    const refused = routed.chat("acme/slow", { stream: true }).then((response) => response.text());
    const [before, between] = await Promise.all([untilSign("before"), untilSign("between")]);
    expect(await refused).toContain('"code":"invalid_request"');
    expect(before).toBe(": waiting\n\n");
    expect(between).toContain("first");
  });
});
