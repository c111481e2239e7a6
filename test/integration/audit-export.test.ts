import { get } from "node:http";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import type { Service } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUp } from "../fixtures/user.ts";
import { type AuditService, linesOf, reader, startAuditService } from "./audit-service.ts";

const audited = sharedByFile(startAuditService);
let service: Service;
let chat: AuditService["chat"];
let exported: AuditService["exported"];
let listed: AuditService["listed"];

beforeAll(async () => {
  ({ service, chat, exported, listed } = audited);
});

describe("a question for the head of an export", () => {
  it.each([
    "/v1/audit/export",
    "/v1/audit/export?format=csv",
    "/v1/audit/export?proof=true",
    "/v1/account/actions/export",
  ])("does not count as an export: %s", async (path) => {
    const headers = await reader(await signUp(service.baseUrl));
    const ask = (method: string, coding: string) =>
      fetch(`${service.baseUrl}${path}`, { method, headers: { ...headers, "accept-encoding": coding } });
    for (let asked = 0; asked < 10; asked++)
      expect((await ask("HEAD", asked % 2 === 0 ? "gzip" : "identity")).status).toBe(200);
    const answer = await ask("GET", "identity");
    expect(answer.status).toBe(200);
    await answer.text();
  });
});

/** Parameters of an export, such as `{ format: "csv", status: "404" }`. */
type Parameters = Readonly<Record<string, string>>;

describe("the cursor of an export", () => {
  const key = async () => {
    const owner = await signUp(service.baseUrl);
    const { key, id } = await owner.trpc.keys.create.mutate({ name: "busy" });
    for (const model of ["sandbox/echo", "no/such/model", "sandbox/echo"]) await chat(key, model);
    return { id, headers: await reader(owner) };
  };
  const ask = (headers: Parameters, parameters: Parameters, method = "GET") =>
    fetch(`${service.baseUrl}/v1/audit/export?${new URLSearchParams(parameters)}`, { method, headers });
  /** The cursor of the first entry. */
  const cursorOf = async (headers: Parameters, parameters: Parameters) => {
    const lines = (await (await ask(headers, parameters)).text()).split("\n");
    return /[\d]*~[^",}]+(?="?\}?$)/.exec(lines[parameters.format === "csv" ? 1 : 0] ?? "")?.[0] ?? "";
  };
  const FROM = "2020-01-01T00:00:00Z";

  it.each<[string, Parameters, Parameters]>([
    ["a filter, without it", { status: "404" }, {}],
    ["no filter, with one", {}, { status: "404" }],
    ["a filter, with another value", { model: "no/*" }, { model: "no/such/*" }],
    ["no period, with one", {}, { from: FROM }],
    ["a closed period, with another", { from: FROM, to: "2030-01-01" }, { from: FROM, to: "2029-12-31" }],
    ["NDJSON, as CSV", {}, { format: "csv" }],
    ["CSV, as NDJSON", { format: "csv" }, {}],
    ["CSV with a filter, without it", { format: "csv", status: "404" }, { format: "csv" }],
    ["a proof, with another filter", { proof: "true", status: "404" }, { proof: "true", status: "4xx" }],
  ])("does not continue an export of %s", async (_, begun, continued) => {
    const { headers } = await key();
    const cursor = await cursorOf(headers, begun);
    expect(cursor).not.toBe("");
    const refused = await ask(headers, { ...continued, cursor });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: {
        code: "invalid_request",
        param: "cursor",
        message: expect.stringMatching(/another .*Pass the parameters .* or begin again without a cursor/),
      },
    });
    expect((await ask(headers, { ...continued, cursor }, "HEAD")).status).toBe(400);
    expect((await ask(headers, { ...begun, cursor })).status).toBe(200);
  });

  it("does not continue an export of another account", async () => {
    const { headers } = await key();
    const other = await key();
    const cursor = await cursorOf(headers, {});
    expect((await ask(other.headers, { cursor })).status).toBe(400);
  });

  it("continues an export whose parameters are written in another way", async () => {
    const { id, headers } = await key();
    const same: readonly [Parameters, Parameters][] = [
      [
        { from: "2020-01-01", to: "2030-01-31" },
        { from: "2020-01-01T02:00:00+02:00", to: "2030-02-01T00:00:00Z" },
      ],
      [{ source: "192.0.2.1" }, { source: "::ffff:192.0.2.1/128" }],
      [{ source: "192.0.2.77/24" }, { source: "192.0.2.0/24" }],
      [{ key: id }, { key: id.toUpperCase(), format: "ndjson", proof: "false" }],
    ];
    for (const [begun, continued] of same) {
      const cursor = await cursorOf(headers, begun);
      const answer = await ask(headers, { ...continued, cursor });
      expect(answer.status, JSON.stringify(continued)).toBe(200);
      expect(linesOf(await answer.text())).toHaveLength(2);
    }
  });

  it("of an earlier version, which did not name the selection, still continues it", async () => {
    const { headers } = await key();
    for (const begun of [{}, { to: "2020-01-01" }, { proof: "true" }] as Parameters[]) {
      const cursor = await cursorOf(headers, {});
      const [, batch = "", id = ""] = /^(\d*)\d{20}~([^~]+)/.exec(cursor) ?? [];
      const former = `${begun.to === undefined ? batch : ""}~${id}${begun.proof === "true" ? `~1-${batch}` : ""}`;
      const answer = await ask(headers, { ...begun, cursor: former });
      expect(answer.status, former).toBe(200);
      const lines = (await answer.text()).split("\n").filter((line) => line.startsWith('{"id"'));
      expect(lines).toHaveLength(begun.to === undefined ? 2 : 0);
    }
  });
});

describe("an export", () => {
  it("contains the entries of all pages, oldest first, as NDJSON", async () => {
    const owner = await signUp(service.baseUrl);
    const headers = await reader(owner);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    await chat(key);
    await chat(key, "no/such/model", "unknown");
    const lines = await exported(headers);
    const pages = await listed(headers);
    expect(lines.map(({ cursor: _, chain: __, ...line }) => line).reverse()).toEqual(pages);
  });

  it("that was cut resumes after its last whole line, with the entries that existed when it began", async () => {
    const owner = await signUp(service.baseUrl);
    const headers = await reader(owner);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    await Promise.all(Array.from({ length: 60 }, () => chat(key)));
    const whole = await exported(headers);
    const response = await fetch(`${service.baseUrl}/v1/audit/export`, { headers });
    const text = await response.text();
    for (const share of [0.1, 0.5, 0.99]) {
      const cut = text.slice(0, Math.floor(text.length * share));
      const kept = linesOf(cut.slice(0, cut.lastIndexOf("\n") + 1));
      await chat(key);
      const rest = await exported(headers, `cursor=${encodeURIComponent(kept.at(-1)?.cursor ?? "")}`);
      expect([...kept, ...rest].map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
    }
    expect(await exported(headers, `cursor=${encodeURIComponent(whole.at(-1)?.cursor ?? "")}`)).toEqual([]);
  });

  it("as CSV quotes what needs quoting, and turns no value of a client into a formula", async () => {
    const owner = await signUp(service.baseUrl);
    const headers = await reader(owner);
    const names = [
      "=HYPERLINK(1)",
      "+1",
      "-2+3",
      "@SUM(A1)",
      'a "quoted", name',
      "plain",
      "＝1",
      "＋1",
      "－1",
      "＠A1",
      "a;=1+1;+2; ;b",
      'say ";-1";"=2;',
    ];
    for (const name of names) {
      const { key } = await owner.trpc.keys.create.mutate({ name });
      await chat(key, "=cmd|'/c calc'!A1");
    }
    const response = await fetch(`${service.baseUrl}/v1/audit/export?format=csv`, { headers });
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
    expect(response.headers.get("content-disposition")).toContain("audit.csv");
    const [header, ...rows] = parseCsv(await response.text());
    expect(header).toContain("request_id");
    const column = (name: string) => rows.map((row) => row[header?.indexOf(name) ?? -1]);
    expect(column("key_name")).toEqual([
      "'=HYPERLINK(1)",
      "'+1",
      "'-2+3",
      "'@SUM(A1)",
      'a "quoted", name',
      "plain",
      "'＝1",
      "'＋1",
      "'－1",
      "'＠A1",
      "a;'=1+1;'+2; ;b",
      `say ";'-1";"'=2;`,
    ]);
    expect(new Set(column("model"))).toEqual(new Set(["'=cmd|'/c calc'!A1"]));
    expect(new Set(column("status"))).toEqual(new Set(["404"]));
    expect(rows.every((row) => row.length === header?.length)).toBe(true);
    const cursor = encodeURIComponent(column("cursor")[3] ?? "");
    const rest = await fetch(`${service.baseUrl}/v1/audit/export?format=csv&cursor=${cursor}`, { headers });
    expect(rest.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=absent");
    expect(parseCsv(await rest.text()).map((row) => row[0])).toEqual(column("id").slice(4));
  });

  it.each([
    ["a space", " "],
    ["a space that does not break", "\u00a0"],
    ["an ideographic space", "\u3000"],
    ["a byte order mark", "\ufeff"],
    ["a space without width", "\u200b"],
  ])("as CSV turns no value into a formula that begins with %s", async (_, space) => {
    const owner = await signUp(service.baseUrl);
    const headers = await reader(owner);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    for (const model of [`${space}=1+1`, `a;${space}${space}@A1`, `${space}plain`, `a${space}-1`])
      await chat(key, model);
    const response = await fetch(`${service.baseUrl}/v1/audit/export?format=csv`, { headers });
    const [header = [], ...rows] = parseCsv(await response.text());
    expect(rows.map((row) => row[header.indexOf("model")])).toEqual([
      `'${space}=1+1`,
      `a;'${space}${space}@A1`,
      `${space}plain`,
      `a${space}-1`,
    ]);
  });

  it("is compressed only for clients that accept it", async () => {
    const owner = await signUp(service.baseUrl);
    const headers = await reader(owner);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    await chat(key);
    const plain = await exported(headers);
    for (const accept of ["gzip", "br, gzip;q=0.5", "*"]) {
      const { encoding, body } = await raw("/v1/audit/export", { ...headers, "accept-encoding": accept });
      expect(encoding, accept).toBe("gzip");
      expect(linesOf(gunzipSync(body).toString()).map(({ id }) => id)).toEqual(plain.map(({ id }) => id));
    }
    for (const accept of ["identity", "br", "gzip;q=0", ""]) {
      const { encoding, body } = await raw("/v1/audit/export", { ...headers, "accept-encoding": accept });
      expect(encoding, accept).toBeUndefined();
      expect(linesOf(body.toString())).toHaveLength(1);
    }
  });

  it("contains only the account's own entries, and leaves an entry when read with a key", async () => {
    const owner = await signUp(service.baseUrl);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    const stranger = await reader(await signUp(service.baseUrl));
    await chat(key);
    expect(await exported(stranger)).toEqual([]);
    expect(await exported({ authorization: `Bearer ${key}` })).toHaveLength(1);
    expect(await listed(await reader(owner))).toMatchObject([
      { endpoint: "GET /v1/audit/export", status: 200, end_reason: "stop" },
      { endpoint: "POST /v1/chat/completions" },
    ]);
  });
});

function raw(
  path: string,
  headers: Record<string, string>,
): Promise<{ readonly encoding: string | undefined; readonly body: Buffer }> {
  return new Promise((resolve, reject) => {
    get(`${service.baseUrl}${path}`, { headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ encoding: response.headers["content-encoding"], body: Buffer.concat(chunks) });
    }).on("error", reject);
  });
}

/** RFC 4180, as far as it goes. */
function parseCsv(text: string): string[][] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "",
      ),
    );
}
