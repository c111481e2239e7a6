import { readFile } from "node:fs/promises";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { catalogJsonSchema } from "../../server/src/catalog/catalog-file.ts";
import { CatalogError, loadCatalog } from "../../server/src/catalog/load-catalog.ts";
import { DIALECTS } from "../../server/src/upstream/dialects.ts";
import { UndiciTransport } from "../../server/src/upstream/http/undici-transport.ts";
import { discoverLocalModels } from "../../server/src/upstream/local-servers.ts";
import { type Transport, TransportError } from "../../server/src/upstream/transport.ts";
import { startModelServer } from "../fixtures/model-server.ts";

const SECRET = "upstream-secret";

function load(text: string, environment: Record<string, string> = { KEY: SECRET }, path = "catalog.yaml") {
  const files: Record<string, string> = {
    [path]: text,
    "/run/secret": ` ${SECRET}\n`,
    "/run/empty": "\n",
  };
  return loadCatalog({
    path,
    environment,
    readFile: async (path) =>
      files[path] ?? Promise.reject(Object.assign(new Error("absent"), { code: "ENOENT" })),
    dialects: DIALECTS,
    now: () => new Date(1_000_000),
  });
}

async function problems(text: string, path?: string): Promise<readonly string[]> {
  const error = await load(text, undefined, path).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CatalogError);
  return error instanceof CatalogError ? error.problems : [];
}

const UPSTREAM = "a: { dialect: openai, baseUrl: 'https://a.example/v1/', credentialEnv: KEY }";
const withModel = (model: string) => `upstreams: { ${UPSTREAM} }\nmodels: [${model}]`;
const MODEL = "{ id: x/one, aliases: [one], routes: [{ upstream: a, model: inner }] }";

describe("a catalog file", () => {
  it("has a JSON Schema for editors that follows from its validation", async () => {
    const written = await readFile(
      new URL("../../docs/reference/catalog.schema.json", import.meta.url),
      "utf8",
    );
    expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(catalogJsonSchema(DIALECTS))));
  });

  it("may be YAML or JSON", async () => {
    const yaml = await load(withModel(MODEL));
    const json = await load(
      JSON.stringify({
        upstreams: { a: { dialect: "openai", baseUrl: "https://a.example/v1", credentialEnv: "KEY" } },
        models: [{ id: "x/one", aliases: ["one"], routes: [{ upstream: "a", model: "inner" }] }],
      }),
    );
    expect(json.models).toEqual(yaml.models);
    expect(yaml.find("one")).toBe(yaml.find("x/one"));
    expect(yaml.find("two")).toBeNull();
    expect(yaml.upstreams.get("a")).toMatchObject({ baseUrl: "https://a.example/v1", maxConcurrency: 256 });
    expect(yaml.find("one")).toMatchObject({
      sandbox: false,
      created: 1_000,
      routes: [{ model: "inner", weight: 1 }],
    });
  });

  it("keeps prices to the last digit", async () => {
    const catalog = await load(
      withModel(
        "{ id: x, prices: { inputUsdPerMTok: 0.1, outputUsdPerMTok: '12.345678901' }, routes: [{ upstream: a }] }",
      ),
    );
    expect(catalog.find("x")?.prices).toMatchObject({
      inputNanoUsdPerMTok: 100_000_000n,
      cachedInputNanoUsdPerMTok: 100_000_000n,
      outputNanoUsdPerMTok: 12_345_678_901n,
      imageNanoUsd: 0n,
    });
  });

  it("reads credentials from variables and files, and never prints them", async () => {
    const catalog = await load(
      `upstreams: { ${UPSTREAM}, b: { dialect: openai, baseUrl: "http://127.0.0.1:1/v1", credentialFile: /run/secret } }\nmodels: [${MODEL}]`,
    );
    for (const upstream of catalog.upstreams.values()) {
      expect(upstream.credential?.reveal()).toBe(SECRET);
      expect(
        inspect(upstream, { depth: 9, showHidden: true }) + JSON.stringify(upstream) + upstream.credential,
      ).not.toContain(SECRET);
    }
  });

  it("reports every fault of its shape with its path", async () => {
    const found = await problems(
      withModel(
        "{ id: 'a b', prices: { inputUsdPerMTok: cheap, outputUsdPerMTok: 1 }, routes: [], colour: red }",
      ),
    );
    const text = found.join("\n");
    for (const place of ["models[0].id", "models[0].prices.inputUsdPerMTok", "models[0].routes", "colour"]) {
      expect(text).toContain(place);
    }
  });

  it("reports a price that is no amount, for any kind of tokens, and a kind that does not exist", async () => {
    const found = await problems(
      withModel(
        `{ id: x, routes: [{ upstream: a }], prices: { inputUsdPerMTok: 1, outputUsdPerMTok: 1, cacheWriteUsdPerMTok: -1,
          cacheWrite1hUsdPerMTok: much, reasoningUsdPerMTok: 1e-3, audioInputUsdPerMTok: "", audioOutputUsdPerMTok: "1,5",
          imageInputUsdPerMTok: .inf, imageOutputUsdPerMTok: [1], cacheWrite2hUsdPerMTok: 1 } }`,
      ),
    );
    const text = found.join("\n");
    for (const name of [
      "cacheWrite",
      "cacheWrite1h",
      "audioInput",
      "audioOutput",
      "imageInput",
      "imageOutput",
    ])
      expect(text).toContain(`models[0].prices.${name}UsdPerMTok: `);
    expect(text).toContain("models[0].prices: has an unknown field: cacheWrite2hUsdPerMTok");
    // YAML reads it as the number 0.001, which is a price.
    expect(text).not.toContain("reasoningUsdPerMTok");
    expect(found).toHaveLength(7);
  });

  it("reports every contradiction between its parts", async () => {
    const found = await problems(
      `upstreams: { u: { dialect: openai, baseUrl: "https://u.example", credentialEnv: UNSET }, w: { dialect: openai, baseUrl: "https://w.example", credentialEnv: constructor }, v: { dialect: openai, baseUrl: "https://v.example", credentialFile: /run/empty } }
models: [{ id: x, aliases: [y], routes: [{ upstream: nowhere }] }, { id: y, routes: [{ upstream: u }] }]`,
    );
    expect(found).toHaveLength(5);
    const text = found.join("\n");
    for (const words of [
      "models[0].routes[0].upstream",
      "models[1].id",
      "UNSET",
      "constructor is not set",
      "/run/empty",
    ])
      expect(text).toContain(words);
  });

  it.each([
    ["", "catalog.yaml: must be an object with the fields $schema, upstreams, models"],
    [
      "models: [",
      "catalog.yaml:1:10: Flow sequence in block collection must be sufficiently indented and end with a ]",
    ],
    ["a: 1\n---\nb: 2", "catalog.yaml:2:1: the file has a second document, after a line ---"],
    ["upstreams: {}\nmodels: *those", "catalog.yaml:2: *those has no anchor &those before it"],
    [
      "upstreams:\n  a:\n    dialect: open-ai\nmodels: [{ id: m, routes: [{ upstream: a }] }]",
      "catalog.yaml:3: upstreams.a.dialect: must be one of openai, openai-responses, anthropic, google, sandbox",
    ],
    [
      "upstreams:\n  a: { dialect: sandbox }\nmodels:\n  - id: m\n    routes: [{ upstream: a }]\n    contexttokens: 1\n    colour: red",
      "catalog.yaml:6: models[0]: has an unknown field: contexttokens. Did you mean contextTokens?; has an unknown field: colour. Its fields are id, aliases, ownedBy, contextTokens, maxOutputTokens, modalities, prices, routes",
    ],
    [
      "upstreams:\n  a: { dialect: sandbox }\nmodels:\n  - id: m\n    routes:\n      - upstream: b",
      'catalog.yaml:6: models[0].routes[0].upstream: there is no upstream "b". The file has: a',
    ],
    [
      "upstreams:\n  a: { dialect: sandbox }\nmodels:\n  - id: m\n    prices:\n      inputUsdPerMTok: 1\n    routes: [{ upstream: a }]",
      "catalog.yaml:5: models[0].prices.outputUsdPerMTok: is required",
    ],
  ])("reports the line of a fault, the field and what to write: %j", async (text, problem) => {
    expect(await problems(text)).toEqual([problem]);
  });

  it.each([
    ["x".repeat(16_385), "16385 characters, and a credential has 16384 at most"],
    [`Bearer ${SECRET}`, "It must be the credential alone"],
  ])("refuses what is no credential, without repeating it", async (KEY, reason) => {
    const refused = await load(withModel(MODEL), { KEY }).catch((thrown: unknown) => String(thrown));
    expect(refused).toContain(`upstreams.a.credentialEnv: `);
    expect(refused).toContain(reason);
    expect(refused).not.toMatch(/xxx|upstream-secret/);
  });

  it.each([
    ['{\n  "models": [\n    { "id": "x" }\n}', "4:1: expected , or ]"],
    [
      '{\n  "models": [],\n  "upstreams": {\n',
      "4:1: the JSON ends too early: expected a name in double quotes",
    ],
    ['{ "models": [] "upstreams": {} }', "1:16: expected , or }"],
    [
      '{ "models": [{ "id": "x }] }',
      "1:22: a string has no end on its line, or a \\ that JSON does not have",
    ],
    ['{ "models" [] }', "1:12: expected : after the name"],
    ['{ "models": [1, 2,] "upstreams": 1 }', "1:19: JSON has no comma before ]"],
    ['{ // models\n "models": [] }}', "1:3: JSON has no comments"],
    ['{ "models": [] }\n}', "2:1: expected the end of the JSON"],
  ])("explains a fault of JSON as one: %j", async (text, fault) => {
    expect(await problems(text, "models.json")).toEqual([`models.json:${fault}`]);
    if (text.startsWith('{ "')) expect(await problems(text)).toEqual([`catalog.yaml:${fault}`]);
  });

  it("refuses an invalid URL and a URL with a password", async () => {
    for (const url of [
      "ftp://a.example",
      "a.example",
      "https://me:pw@a.example/v1",
      "https://a.example/?x=1",
      "https://a.example\\nb.example/v1",
    ]) {
      const [problem = ""] = await problems(
        `upstreams: { a: { dialect: openai, baseUrl: "${url}" } }\nmodels: [{ id: x, routes: [{ upstream: a }] }]`,
      );
      expect(problem).toContain("upstreams.a.baseUrl");
      expect(problem).not.toContain("pw");
    }
  });
});

describe("model servers on this machine", () => {
  const answers: Record<string, string> = {
    "http://127.0.0.1:1/v1/models": JSON.stringify({
      object: "list",
      data: [{ id: "llama:8b" }, { id: "nomic-embed-text:latest" }],
    }),
    "http://127.0.0.1:2/v1/models": "<html>something else</html>",
    "http://127.0.0.1:4/v1/models": JSON.stringify({ data: [{ id: "x".repeat(2_000_000) }] }),
    "http://127.0.0.1:5/v1/models": JSON.stringify({ data: [{ id: "me" }] }),
  };
  const transport: Transport = {
    send: async ({ url }) => {
      const answer = answers[url];
      if (answer === undefined) throw new TransportError("connect", "nobody there");
      const body = async function* () {
        yield new TextEncoder().encode(answer);
      };
      return { status: 200, headers: {}, body: body() };
    },
    close: async () => {},
  };

  it("are discovered only where they answer with a list of models", async () => {
    const servers = [1, 2, 3, 4, 5].map((port) => ({ name: `server${port}`, port }));
    const found = await discoverLocalModels({
      servers,
      transport,
      timeoutMs: 100,
      exceptPort: 5,
      now: new Date(0),
    });
    expect(found.upstreams.map((upstream) => upstream.baseUrl)).toEqual(["http://127.0.0.1:1/v1"]);
    expect(found.models).toMatchObject([
      {
        id: "server1/llama:8b",
        sandbox: false,
        modalities: { output: ["text"] },
        routes: [{ upstream: "server1", model: "llama:8b" }],
      },
      { id: "server1/nomic-embed-text:latest", modalities: { output: ["embedding"] } },
    ]);
  });

  it("are none of a server whose answer is longer than it may be when it is decoded, and the service starts", async () => {
    const bomb = gzipSync(Buffer.alloc(4 * 1024 * 1024, " "));
    await using server = await startModelServer(({ response }) => {
      response.setHeader("content-encoding", "gzip").end(bomb);
    });
    const http = new UndiciTransport();
    const servers = [{ name: "server", port: Number(new URL(server.baseUrl).port) }];
    const options = { servers, transport: http, timeoutMs: 10_000, exceptPort: 0, now: new Date(0) };
    expect(await discoverLocalModels(options)).toEqual({ upstreams: [], models: [] });
    await http.close();
  });
});
