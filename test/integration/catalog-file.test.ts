import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { answerWhole, startModelServer } from "../fixtures/model-server.ts";
import { sendChat } from "../fixtures/request.ts";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { routesTo } from "./routed-service.ts";
import { failing } from "./upstream-faults.ts";

/** Of an upstream that no request is sent to. */
const UNUSED_URL = "http://127.0.0.1:9/v1";

describe("the catalog file", () => {
  it("is reloaded when it changes, and stays in force when the change is invalid", async () => {
    await using file = await writeCatalog({
      upstreams: { one: { dialect: "openai", baseUrl: UNUSED_URL } },
      models: [{ id: "acme/old", routes: routesTo("one") }],
    });
    await using own = await startService({
      env: { OSTIARY_CATALOG: file.file, OSTIARY_LOG: "info" },
    });
    const owner = await signUpWithKey(own.baseUrl);
    const models = async () => {
      const response = await fetch(`${own.baseUrl}/v1/models`, {
        headers: { authorization: `Bearer ${owner.key}` },
      });
      return (await response.json()).data as { id: string; created: number }[];
    };
    const problems = () => metricOf(own.baseUrl, "ostiary_catalog_problems");
    expect(await problems()).toBe(0);
    const [old] = await models();
    const next = {
      upstreams: { one: { dialect: "openai", baseUrl: UNUSED_URL } },
      models: [
        { id: "acme/old", routes: routesTo("one") },
        {
          id: "acme/new",
          aliases: ["new"],
          prices: { inputUsdPerMTok: 1, outputUsdPerMTok: 2, imageUsd: "0.01" },
          routes: routesTo("one"),
        },
      ],
    };
    await writeFile(file.file, JSON.stringify(next));
    await expect.poll(async () => (await models()).map(({ id }) => id)).toEqual(["acme/old", "acme/new"]);
    expect((await models())[0]?.created).toBe(old?.created);
    expect((await models())[1]).toMatchObject({ pricing: { image_usd: "0.01" } });

    await writeFile(
      file.file,
      JSON.stringify({ ...next, models: [{ id: "acme/old", routes: routesTo("nowhere") }] }),
    );
    await expect.poll(() => own.stderr()).toContain("models[0].routes[0].upstream");
    expect((await models()).map(({ id }) => id)).toEqual(["acme/old", "acme/new"]);
    expect(await problems()).toBe(1);
    await writeFile(file.file, "{ nonsense");
    await expect.poll(() => own.stderr().match(/the catalog file has errors/g)?.length).toBe(2);
    await writeFile(file.file, "upstreams: *nobody\nmodels: []");
    await expect.poll(() => own.stderr().match(/the catalog file has errors/g)?.length).toBe(3);
    await rm(file.file);
    await expect.poll(() => own.stderr()).toContain("the catalog file cannot be read: the previous catalog");
    process.kill(own.pid, "SIGHUP");
    await writeFile(file.file, JSON.stringify({ ...next, models: next.models.slice(1) }));
    process.kill(own.pid, "SIGHUP");
    await expect.poll(async () => (await models()).map(({ id }) => id)).toEqual(["acme/new"]);
    expect(await problems()).toBe(0);
  });

  it("may lose a model, of which answers to idempotency keys are repeated all the same", async () => {
    await using upstream = await startModelServer((request) => answerWhole(request));
    const catalogOf = (id: string) => ({
      upstreams: { one: { dialect: "openai", baseUrl: upstream.baseUrl } },
      models: [{ id, routes: routesTo("one") }],
    });
    await using file = await writeCatalog(catalogOf("acme/old"));
    await using own = await startService({ env: { OSTIARY_CATALOG: file.file } });
    const { key } = await signUpWithKey(own.baseUrl);
    const ask = (idempotencyKey: string) =>
      sendChat(own.baseUrl, key, { model: "acme/old" }, { headers: { "idempotency-key": idempotencyKey } });
    const first = await (await ask("order-1")).text();
    await writeFile(file.file, JSON.stringify(catalogOf("acme/new")));
    await expect.poll(async () => (await ask(crypto.randomUUID())).status).toBe(404);
    expect((await ask("order-2")).status).toBe(404);
    const repeated = await ask("order-1");
    expect([repeated.status, await repeated.text()]).toEqual([200, first]);
    expect(repeated.headers.get("idempotency-replayed")).toBe("true");
    // A refusal leaves no claim behind: the request is executed once the model is back.
    await writeFile(file.file, JSON.stringify(catalogOf("acme/old")));
    await expect.poll(async () => (await ask("order-2")).status).toBe(200);
  });

  it("stays in force for a request that is being answered when it changes", async () => {
    await using busy = await startModelServer(() => {});
    await using former = await startModelServer((request) => answerWhole(request, "from the former"));
    await using later = await startModelServer((request) => answerWhole(request, "from the later"));
    const openai = ({ baseUrl }: { readonly baseUrl: string }) => ({ dialect: "openai", baseUrl });
    const routes = [
      { upstream: "busy", model: "inner", weight: 1_000_000 },
      { upstream: "renamed", model: "inner", weight: 0.000_001 },
      { upstream: "moved", model: "inner", weight: 0.000_000_001 },
    ];
    const models = [{ id: "acme/one", routes }];
    const upstreams = { busy: openai(busy), renamed: openai(former), moved: openai(former) };
    await using file = await writeCatalog({ upstreams, models });
    await using own = await startService({ env: { OSTIARY_CATALOG: file.file, OSTIARY_LOG: "silent" } });
    const { key } = await signUpWithKey(own.baseUrl);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const body = JSON.stringify({ model: "acme/one", messages: [{ role: "user", content: "hi" }] });
    const answering = fetch(`${own.baseUrl}/v1/chat/completions`, { method: "POST", headers, body });
    await expect.poll(() => busy.received.length).toBe(1);

    const next = {
      upstreams: { moved: openai(later) },
      models: [{ id: "acme/two", routes: routesTo("moved") }],
    };
    await writeFile(file.file, JSON.stringify(next));
    process.kill(own.pid, "SIGHUP");
    await expect
      .poll(async () => (await fetch(`${own.baseUrl}/v1/models/acme/two`, { headers })).status)
      .toBe(200);
    for (const request of busy.received) failing(500)(request);
    const answer = await answering;
    expect([answer.status, (await answer.json()).choices?.[0].message.content]).toEqual([
      200,
      "from the former",
    ]);
    expect(later.received).toEqual([]);
  });

  it("names a file with a credential, of which a corrected one is tried at once", async () => {
    await using upstream = await startModelServer((request) =>
      request.headers.authorization === "Bearer the-corrected-one"
        ? answerWhole(request)
        : failing(401)(request),
    );
    const folder = await mkdtemp(join(tmpdir(), "ostiary-credential-"));
    const credentialFile = join(folder, "credential");
    await writeFile(credentialFile, "the-revoked-one");
    await using file = await writeCatalog({
      upstreams: {
        // Without the correction no request would reach it for a minute.
        one: {
          dialect: "openai",
          baseUrl: upstream.baseUrl,
          credentialFile,
          breaker: { failures: 1, openMs: 60_000 },
        },
      },
      models: [{ id: "acme/one", routes: routesTo("one") }],
    });
    await using own = await startService({ env: { OSTIARY_CATALOG: file.file } });
    const { key } = await signUpWithKey(own.baseUrl);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const body = JSON.stringify({ model: "acme/one", messages: [{ role: "user", content: "hi" }] });
    const statusOfChat = async () =>
      (await fetch(`${own.baseUrl}/v1/chat/completions`, { method: "POST", headers, body })).status;
    expect([await statusOfChat(), await statusOfChat()]).toEqual([502, 503]);
    await writeFile(credentialFile, "the-corrected-one");
    process.kill(own.pid, "SIGHUP");
    await expect.poll(statusOfChat, { timeout: 30_000 }).toBe(200);
    await rm(folder, { recursive: true, force: true });
  });

  it("is parsed beside the requests, so that none of them waits for a large one", async () => {
    const large = (prefix: string) => {
      const models = Array.from({ length: 1_000 }, (_, index) => ({
        id: `acme/${prefix}-${index}`,
        aliases: [`${prefix}-${index}`],
        prices: { inputUsdPerMTok: "2.5", outputUsdPerMTok: "10" },
        routes: [...routesTo("one"), ...routesTo("one")],
      }));
      return { upstreams: { one: { dialect: "openai", baseUrl: UNUSED_URL } }, models };
    };
    await using file = await writeCatalog(large("first"));
    await using own = await startService({ env: { OSTIARY_CATALOG: file.file } });
    const { key } = await signUpWithKey(own.baseUrl);
    const headers = { authorization: `Bearer ${key}` };
    /** The part of a reload's time for which one request waited. */
    const reload = async (prefix: string) => {
      await writeFile(file.file, JSON.stringify(large(prefix)));
      process.kill(own.pid, "SIGHUP");
      const begun = performance.now();
      for (let longest = 0; ; ) {
        const asked = performance.now();
        const { status } = await fetch(`${own.baseUrl}/v1/models/${prefix}-0`, { headers });
        longest = Math.max(longest, performance.now() - asked);
        if (status === 200) return longest / (performance.now() - begun);
      }
    };
    // Most of the time is spent on parsing. Other processes may hold up a request.
    const isBeside = async (prefix: string) => (await reload(prefix)) < 0.5;
    expect((await isBeside("second")) || (await isBeside("third")) || (await isBeside("fourth"))).toBe(true);
  });
});
