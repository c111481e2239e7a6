import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { type ModelServer, type ReceivedRequest, startModelServer } from "../fixtures/model-server.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

// What upstreams can make the service keep by large answers.

const MIB = 1024 * 1024;
/** The service may keep answers of 7 MiB for one account, and of 10 MiB in all. */
const LARGE = 6 * MIB;
const WHOLE = completionOf(LARGE);
/** As large as an account may have it, but for the body of its request. */
const MOST = completionOf(7 * MIB - completionOf(0).length);

let upstream: ModelServer;
let catalog: CatalogFile;
let service: Service;
let held: ReceivedRequest[] = [];

/** A model answers, stays silent at the end of a large answer, or at the end of an endless event, as its name says. */
function answer(request: ReceivedRequest): void {
  const { body, response } = request;
  switch (body.model) {
    case "small":
      return void response.end(completionOf(10));
    case "too-large":
      return void response.end(MOST);
    case "large":
      return void response.end(WHOLE);
    case "event":
      response
        .setHeader("content-type", "text/event-stream")
        .write(`data: {"choices":[${" ".repeat(1.9 * MIB)}`);
      break;
    default:
      response.write(WHOLE.slice(0, -1));
  }
  held.push(request);
}

function completionOf(characters: number): string {
  const message = { role: "assistant", content: "x".repeat(characters) };
  return JSON.stringify({
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
  });
}

beforeAll(async () => {
  upstream = await startModelServer(answer);
  const { baseUrl } = upstream;
  const names = ["small", "large", "too-large", "held", "event"];
  catalog = await writeCatalog({
    upstreams: { main: { dialect: "openai", baseUrl, breaker: { failures: 2 } } },
    models: names.map((name) => ({ id: name, routes: [{ upstream: "main", model: name }] })),
  });
  service = await startService({
    env: {
      OSTIARY_CATALOG: catalog.file,
      OSTIARY_MAX_BODY_BYTES: String(MIB),
      OSTIARY_MAX_UNFINISHED_BODY_BYTES: String(8 * MIB),
    },
  });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
});

function ask(key: string, model: string, fields: object = {}): Promise<Response> {
  return sendChat(service.baseUrl, key, { model, ...fields });
}

async function errorOf(response: Response) {
  return [response.status, (await response.json()).error.code];
}

const bytesInUse = () => metricOf(service.baseUrl, "ostiary_request_body_bytes");
const refused = (reason: string) =>
  metricOf(service.baseUrl, `ostiary_answers_refused_total{reason="${reason}"}`);

/** Ends the answers that are held back. */
function endHeld(end: string): void {
  for (const { response } of held) response.end(end);
  held = [];
}

describe("large answers", () => {
  afterEach(() => endHeld("}"));

  it("take a share of the memory for one account, and another for all, and are kept once others have ended", async () => {
    const [one, two] = [await signUpWithKey(service.baseUrl), await signUpWithKey(service.baseUrl)];
    const counts = async () => [await refused("account_bytes"), await refused("process_bytes")] as const;
    const before = await counts();
    const first = ask(one.key, "held");
    await expect.poll(bytesInUse).toBeGreaterThan(LARGE / 2);
    const [own, other, small] = await Promise.all([
      ask(one.key, "large").then(errorOf),
      ask(two.key, "large").then(errorOf),
      ask(one.key, "small"),
    ]);
    expect(own).toEqual([429, "rate_limit_exceeded"]);
    expect(other).toEqual([503, "server_is_overloaded"]);
    expect(small.status).toBe(200);
    expect(await counts()).toEqual([before[0] + 1, before[1] + 1]);
    endHeld("}");
    expect((await (await first).text()).length).toBeGreaterThan(LARGE);
    expect((await (await ask(two.key, "large")).text()).length).toBeGreaterThan(LARGE);
    await expect.poll(bytesInUse).toBe(0);
    const { entries } = await two.trpc.audit.list.query({ limit: 2 });
    expect(entries.map(({ status, upstream: name }) => [status, name])).toEqual([
      [200, "main"],
      [503, "main"],
    ]);
  });

  it("that no account's share can hold are an error of the upstream, and its breaker stays closed", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    for (let count = 0; count < 3; count++) {
      expect(await errorOf(await ask(key, "too-large"))).toEqual([502, "upstream_error"]);
    }
    expect((await ask(key, "small")).status).toBe(200);
  });

  it("count while an event of a stream is incomplete", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const open = Array.from({ length: 6 }, () => ask(key, "event", { stream: true }));
    expect(await errorOf(await Promise.race(open))).toEqual([429, "rate_limit_exceeded"]);
    expect(await bytesInUse()).toBeLessThanOrEqual(4 * MIB);
    endHeld('"');
    await Promise.all(open);
    await expect.poll(bytesInUse, { timeout: 10_000 }).toBe(0);
  });
});
