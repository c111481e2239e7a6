import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../sdk/src/contract/error-codes.ts";
import { createCompressor } from "../../server/src/operations/compressed-body.ts";
import { getOpenApi } from "../../server/src/operations/openapi-document.ts";
import { sendChat } from "../fixtures/request.ts";
import { accountIdOf, openResponseStore, responseOf } from "../fixtures/responses.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

const service = sharedByFile(startService);
let owner: Owner & { readonly key: string };
let token: string;
// biome-ignore lint/suspicious/noExplicitAny: a document of any shape, until it has been looked at
let document: any;

beforeAll(async () => {
  const response = await fetch(`${service.baseUrl}/v1/openapi.json`);
  expect(response.status).toBe(200);
  document = await response.json();
  owner = await signUpWithKey(service.baseUrl);
  token = (await owner.trpc.tokens.create.mutate({ name: "script" })).token;
});

interface Described {
  readonly path: string;
  readonly method: string;
  // biome-ignore lint/suspicious/noExplicitAny: as the document
  readonly operation: any;
}

function operations(): Described[] {
  return Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Whether an operation's security includes an API key. The document's own is a key. */
function takesKeys({ operation }: Described): boolean {
  return (operation.security ?? [{ key: [] }]).some((scheme: object) => "key" in scheme);
}

/** The id of what a path names, which is new. */
async function idFor(path: string): Promise<string> {
  if (!path.includes("{id}")) return "";
  if (path === "/v1/models/{id}") return "sandbox/echo";
  if (path.startsWith("/v1/responses/")) {
    await using stored = await openResponseStore(service);
    const kept = responseOf("described");
    await stored.store.save(await accountIdOf(owner), kept);
    return kept.id;
  }
  return (await owner.trpc.keys.create.mutate({ name: crypto.randomUUID() })).id;
}

async function send(
  described: Described,
  { id, query = "", body = "{}" }: { readonly id: string; readonly query?: string; readonly body?: string },
): Promise<Response> {
  const { path, method } = described;
  return fetch(`${service.baseUrl}${path.replace("{id}", id)}${query}`, {
    method: method.toUpperCase(),
    headers: {
      authorization: `Bearer ${takesKeys(described) ? owner.key : token}`,
      "content-type": "application/json",
    },
    ...(method === "post" ? { body } : {}),
  });
}

/** What the linter's recommended rules report, warnings included. */
async function problemsOf(checked: object): Promise<string[]> {
  // The service's operator decides on the license of their API.
  const config = await createConfig({ extends: ["recommended"], rules: { "info-license": "off" } });
  const problems = await lintFromString({ source: JSON.stringify(checked), config });
  return problems.map(({ ruleId, message, location: [at] }) => `${ruleId}: ${message} ${at?.pointer}`);
}

describe("the OpenAPI document", () => {
  it("is public, and contains the service's address", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.servers).toEqual([{ url: service.baseUrl }]);
    expect(document.components.schemas.Error.properties.error.properties.code.enum).toEqual(
      Object.keys(ERROR_CODES),
    );
  });

  it("passes the linter's recommended rules without a warning", async () => {
    expect(await problemsOf(document)).toEqual([]);
    const { operationId: _, responses, ...rest } = document.paths["/v1/keys"].get;
    const paths = { ...document.paths, "/v1/keys": { get: { ...rest, responses: { 200: responses[200] } } } };
    expect(await problemsOf({ ...document, paths })).toEqual(
      expect.arrayContaining([
        expect.stringContaining("operation-operationId"),
        expect.stringContaining("operation-4xx-response"),
      ]),
    );
  });

  it("contains only operations that exist, and no dangling reference", async () => {
    for (const described of operations()) {
      const { path, method } = described;
      const id = await idFor(path);
      const response = await send(described, { id });
      expect([200, 400], `${method} ${path}`).toContain(response.status);
      await response.arrayBuffer();
    }
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(5);
    for (const [, name = ""] of references) expect(document.components.schemas).toHaveProperty(name);
  });

  it.each([
    ["/v1/models", "sk-wrong", 401],
    ["/v1/models/{id}", "sk-wrong", 401],
    ["/v1/models/{id}", null, 404],
  ])("describes the errors of %s in the form of each client (%s)", async (path, key, status) => {
    const { responses } = document.paths[path].get;
    const validate = validatorOf(responses[status].content["application/json"].schema);
    for (const version of [{}, { "anthropic-version": "2023-06-01" }]) {
      const response = await fetch(service.baseUrl + path.replace("{id}", "no/such"), {
        headers: { authorization: `Bearer ${key ?? owner.key}`, ...version },
      });
      expect(response.status).toBe(status);
      expect(validate(await response.json()), JSON.stringify(validate.errors)).toBe(true);
    }
    // Only Anthropic's API has a status of its own for an overloaded server.
    expect(responses[503].content["application/json"].schema.$ref).toMatch(/\/Error$/);
    expect(responses[529].content["application/json"].schema.$ref).toMatch(/\/MessagesError$/);
  });

  it("describes requests by the schemas that validate them", async () => {
    const { schema } = document.paths["/v1/chat/completions"].post.requestBody.content["application/json"];
    expect(schema.required).toEqual(["model", "messages"]);
    expect(JSON.stringify(schema.properties.temperature)).toContain('"maximum":2');
    const response = await sendChat(service.baseUrl, owner.key, { temperature: 2.1 });
    expect(await response.json()).toMatchObject({ error: { code: "invalid_request", param: "temperature" } });
  });

  const asked = [{ role: "user", content: "hi" }];
  it.each([
    ["/v1/chat/completions", { model: "sandbox/echo", messages: asked, n: 2 }, "choices.0.message.content"],
    ["/v1/messages", { model: "sandbox/echo", messages: asked, max_tokens: 9 }, "content.0.text"],
    ["/v1/responses", { model: "sandbox/reasoning", input: "hi" }, "output.0.content.0.text"],
    ["/v1/embeddings", { model: "sandbox/embedding", input: ["a"] }, "data.0.embedding.0"],
    [
      "/v1/embeddings",
      { model: "sandbox/embedding", input: "a", encoding_format: "base64" },
      "data.0.embedding",
    ],
  ])("describes what models answer to %s, for generated clients", async (path, body, field) => {
    const described = operations().find((one) => one.path === path && one.method === "post");
    if (described === undefined) throw new Error(`${path} is not described`);
    const response = await send(described, { id: "", body: JSON.stringify(body) });
    expect(response.status).toBe(200);
    const { schema } = described.operation.responses[200].content["application/json"];
    const validate = validatorOf(schema, { isOpen: true });
    const answer = await response.json();
    expect(validate(answer), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({})).toBe(false);
    let at = document.components.schemas[schema.$ref.split("/").at(-1)];
    for (const name of field.split(".")) {
      at = /^\d+$/.test(name) ? (at.items ?? at.anyOf[0].items) : at.properties[name];
      expect(at, `${name} of ${field}`).toBeDefined();
    }
  });

  it("describes an audit entry with all of its fields", async () => {
    const { data } = await (
      await send({ path: "/v1/audit", method: "get", operation: {} }, { id: "" })
    ).json();
    const { required } = document.components.schemas.AuditEntry;
    expect(required).toEqual(expect.arrayContaining(["id", "timestamp", "source_ip", "cost_nano_usd"]));
    for (const entry of data) expect(Object.keys(entry)).toEqual(expect.arrayContaining(required));
  });

  it.each(["AuditEntry", "ExportedAuditEntry", "Model", "Error"])(
    "says of each field of %s what it means, and what null means",
    (name) => {
      const { properties } = document.components.schemas[name];
      const fields = Object.entries<{ type?: string | string[]; description?: string }>(
        properties.error?.properties ?? properties,
      );
      expect(fields.length).toBeGreaterThan(3);
      for (const [field, { type = [], description }] of fields) {
        expect(description, field).toMatch(/\w/);
        if (type.includes("null")) expect(description, field).toContain("`null`");
      }
    },
  );

  it.each([
    ["/v1/audit/export", "?from=2026-01-01&proof=true"],
    ["/v1/account/actions/export", ""],
  ])("describes each line of %s", async (path, query) => {
    const described = { path, method: "get", operation: document.paths[path].get };
    const { schema } = described.operation.responses[200].content["application/x-ndjson"];
    const validate = validatorOf(schema, { isOpen: true });
    const lines = (await (await send(described, { id: "", query })).text()).trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      const { cursor, chain, ...rest } = JSON.parse(line);
      expect(validate(JSON.parse(line)), JSON.stringify(validate.errors)).toBe(true);
      // What resumes an export, and what verifies it, is a part of its lines.
      expect(validate(rest)).toBe(false);
    }
  });

  it("says what each parameter is", () => {
    const named = Object.entries<object>(document.paths).flatMap(([path, operations]) =>
      Object.values(operations).flatMap(({ parameters = [] }) =>
        parameters.map(({ name, description }: Record<string, string>) => ({ path, name, description })),
      ),
    );
    expect(named.length).toBeGreaterThan(70);
    expect(named.filter(({ description }) => description === undefined)).toEqual([]);
  });

  it.each([
    ["/v1/audit", "key", ["2MbT", "0198c7de-5d3a-7c21-9f44-2b1e6a70c5d8"], ["2MbT1", "2M-T", "demo key"]],
    ["/v1/usage", "model", ["sandbox/echo", ""], ["sandbox/*"]],
  ])("describes which values of a filter of %s are accepted: %s", async (path, name, accepted, refused) => {
    const described = { path, method: "get", operation: document.paths[path].get };
    const { schema } = described.operation.parameters.find((one: { name: string }) => one.name === name);
    const validate = validatorOf(schema);
    const period = path === "/v1/usage" ? "from=2026-01-01&to=2026-01-02&interval=day&" : "";
    for (const value of [...accepted, ...refused]) {
      const query = `?${period}${name}=${encodeURIComponent(value)}`;
      const { status } = await send(described, { id: "", query });
      expect({ value, status, matches: validate(value) }).toEqual(
        refused.includes(value)
          ? { value, status: 400, matches: false }
          : { value, status: 200, matches: true },
      );
    }
  });

  it("describes that reads of the audit log are limited", () => {
    for (const path of ["/v1/audit", "/v1/audit/export"]) {
      expect(document.paths[path].get.responses[429].description).toBe("`rate_limit_exceeded`");
    }
  });

  it("describes the models in the form of Anthropic's API, too", async () => {
    const ask = async (path: string) => {
      const headers = { authorization: `Bearer ${owner.key}`, "anthropic-version": "2023-06-01" };
      const response = await fetch(service.baseUrl + path, { headers });
      return { status: response.status, answer: await response.json() };
    };
    const { parameters, responses } = document.paths["/v1/models"].get;
    expect(parameters.map(({ name }: { name: string }) => name)).toEqual([
      "anthropic-version",
      "limit",
      "after_id",
      "before_id",
    ]);
    const one = document.paths["/v1/models/{id}"].get.responses;
    const described = [
      ["/v1/models?limit=2", responses],
      ["/v1/models?limit=0", responses],
      ["/v1/models/sandbox/echo", one],
    ] as const;
    for (const [path, answers] of described) {
      const { status, answer } = await ask(path);
      const validate = validatorOf(answers[status].content["application/json"].schema);
      expect(validate(answer), `${path}: ${JSON.stringify(validate.errors)}`).toBe(true);
    }
  });

  it("describes management operations with REST's names and units", () => {
    const managed = operations().filter(({ path }) =>
      /^\/v1\/(?:keys|usage|account|credits|audit\/summary)/.test(path),
    );
    const descriptions = managed.flatMap(({ operation }) =>
      [...JSON.stringify(operation).matchAll(/"description":"((?:[^"\\]|\\.)*)"/g)].map(
        ([, text = ""]) => text,
      ),
    );
    expect(descriptions.length).toBeGreaterThan(50);
    expect(descriptions.filter((text) => /nano-USD|`[a-z]+[A-Z]/.test(text))).toEqual([]);
  });

  it("describes the answers of management operations completely", async () => {
    // The export of actions answers with lines.
    const managed = operations().filter(
      ({ path }) =>
        /^\/v1\/(?:keys|usage|account|credits|audit\/summary)/.test(path) && !path.endsWith("/export"),
    );
    expect(managed).toHaveLength(16);
    const day = new Date().toISOString().slice(0, 10);
    const queries: Readonly<Record<string, string>> = {
      "/v1/usage": `?from=2026-01-01&to=${day}&interval=month&group_by=key`,
      "/v1/usage/performance": `?from=2026-01-01&to=${day}&interval=month`,
    };
    for (const described of managed) {
      const { path, method, operation } = described;
      const id = await idFor(path);
      const body = path === "/v1/keys" ? JSON.stringify({ name: crypto.randomUUID() }) : "{}";
      const query = queries[path] ?? "";
      const answers = [await (await send(described, { id, query, body })).json()];
      if (path.endsWith("/usage") && id !== "") {
        await owner.trpc.keys.rotate.mutate({ id });
        answers.push(await (await send(described, { id })).json());
      }
      const validate = validatorOf(operation.responses[200].content["application/json"].schema);
      for (const answer of answers) {
        expect(validate(answer), `${method} ${path}: ${JSON.stringify(validate.errors)}`).toBe(true);
      }
    }
  });
});

const FORMATS = {
  uuid: /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/,
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
};

describe("requests for the document, which need no key", () => {
  it("share one text, and one compressed form of each coding, until the service's address changes", async () => {
    let url = "http://first.example";
    let written = 0;
    const getDocument = getOpenApi(
      () => url,
      () => ({ written: ++written, url, much: "x".repeat(10_000) }),
    );
    const compress = createCompressor();
    const bodies = new Set<string>();
    const compressed = new Set<Uint8Array | undefined>();
    for (let request = 0; request < 10; request++) {
      if (request === 5) url = "http://second.example";
      const reply = await getDocument.run();
      if (reply.kind !== "whole") throw new Error("the document is a whole answer");
      bodies.add(reply.body);
      for (const coding of ["br", "gzip"])
        compressed.add((await compress(reply.body, coding, reply.isShared))?.bytes);
    }
    expect([written, bodies.size, compressed.size]).toEqual([2, 2, 4]);
  });
});

/** A validator of a schema of the document. Unless it is open, it allows no other properties than those that are described. */
function validatorOf(schema: object, { isOpen }: { readonly isOpen: boolean } = { isOpen: false }) {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, formats: FORMATS });
  ajv.addKeyword("components");
  return ajv.compile(
    JSON.parse(JSON.stringify({ ...schema, components: document.components }), (_, value) =>
      !isOpen &&
      value !== null &&
      typeof value === "object" &&
      value.type === "object" &&
      "properties" in value
        ? { ...value, additionalProperties: false }
        : value,
    ),
  );
}
