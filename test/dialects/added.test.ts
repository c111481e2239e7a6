import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { catalogJsonSchema } from "../../server/src/catalog/catalog-file.ts";
import { signatureSealer } from "../../server/src/conversation/sealed-signature.ts";
import { Gateway } from "../../server/src/gateway/gateway.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { SEAL_KEY_BYTES, Sealer } from "../../server/src/secrets/sealer.ts";
import { readCatalogFile } from "../../server/src/start/open-models.ts";
import { NO_USAGE } from "../../server/src/tokens/token-estimate.ts";
import { DIALECTS, openDialects } from "../../server/src/upstream/dialects.ts";
import { chatRequest } from "../../server/src/wire/chat/chat-request.ts";
import { FetchTransport } from "../fixtures/fetch-transport.ts";

// The line that a developer adds for the folder.
vi.mock(import("../../server/src/upstream/dialects.ts"), async (importOriginal) => {
  const original = await importOriginal();
  const { parrot } = await import("../fixtures/parrot/index.ts");
  return { ...original, DIALECTS: [...original.DIALECTS, parrot] };
});

const SIGNATURES = signatureSealer(new Sealer([new Uint8Array(SEAL_KEY_BYTES)]), "test");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ostiary-dialect-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function catalogWith(upstream: string) {
  const path = join(folder, "catalog.yaml");
  await writeFile(
    path,
    `upstreams:\n  polly: ${upstream}\nmodels:\n  - { id: acme/chat, routes: [{ upstream: polly, model: ara }] }\n`,
  );
  return readCatalogFile(path, {});
}

describe("a dialect that is a folder and a place in the list", () => {
  it("answers for a model of a catalog file", async () => {
    const { first: catalog } = await catalogWith("{ dialect: parrot, greeting: Hello }");
    const now = () => new Date(7_000);
    const gateway = new Gateway({
      catalog,
      dialects: openDialects(DIALECTS, { transport: new FetchTransport(), now, monotonicMs: () => 0 }),
      random: Math.random,
      now,
      monotonicMs: () => performance.now(),
      onCredentialRefused: () => {},
    });
    const model = catalog.find("acme/chat");
    const body = JsonBody.parse('{"model":"acme/chat","messages":[]}');
    if (model === null || body === null) throw new Error("no model");
    const { answer, upstream } = await gateway.answer({
      model,
      request: chatRequest(body, { stream: false, includeUsage: false, signatures: SIGNATURES }),
      signal: new AbortController().signal,
      maxTokens: null,
      estimate: async () => NO_USAGE,
    });
    expect(upstream).toBe("polly");
    expect(answer.kind === "whole" && JSON.parse(answer.body)).toMatchObject({
      created: 7,
      model: "acme/chat",
      choices: [{ message: { content: "Hello from ara at http://parrot.example in 7" } }],
    });
  });

  it("has its settings checked, by their schema and by itself", async () => {
    await expect(catalogWith("{ dialect: parrot }")).rejects.toThrow(/upstreams\.polly\.greeting: /);
    await expect(catalogWith("{ dialect: parrot, greeting: Hi, baseUrl: x }")).rejects.toThrow(/baseUrl/);
    await expect(catalogWith("{ dialect: parrot, greeting: silence }")).rejects.toThrow(
      "upstreams.polly.greeting: parrots are never silent",
    );
  });

  it("is in the catalog's JSON Schema", () => {
    expect(JSON.stringify(catalogJsonSchema(DIALECTS))).toContain('"const":"parrot"');
  });
});
