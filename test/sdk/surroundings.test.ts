import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import Ostiary, { OstiaryError } from "../../sdk/src/index.ts";
import { OstiaryOperator } from "../../sdk/src/operator.ts";
import { ostiaryLink } from "../../sdk/src/trpc.ts";
import { answersInTurn, caught, collect, emptyList, newClient } from "./fake-service.ts";

beforeEach(() => {
  for (const name of ["API_KEY", "MANAGEMENT_TOKEN", "BASE_URL"]) vi.stubEnv(`OSTIARY_${name}`, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

const CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0";
const importScripts = () => {};
const secrets = { apiKey: "sk-test", managementToken: "mt-test" };

describe.each([
  ["a web page", { window: { document: {} }, navigator: { userAgent: CHROME } }],
  ["a browser's worker", { importScripts, navigator: { userAgent: CHROME } }],
  ["an app of React Native", { navigator: { product: "ReactNative" } }],
])("in %s", (_, globals) => {
  beforeEach(() => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  });

  it("every client is refused, because its key could be read", () => {
    for (const open of [() => new Ostiary(secrets), () => new OstiaryOperator(secrets)]) {
      expect(open).toThrow(OstiaryError);
      expect(open).toThrow(/backend.*dangerouslyAllowBrowser/);
    }
    expect(() => ostiaryLink(secrets)).toThrow(/backend/);
  });

  it("a client that is allowed sends the runtime's own user agent", async () => {
    const fetch = answersInTurn(emptyList);
    await new Ostiary({ ...secrets, fetch, dangerouslyAllowBrowser: true }).models.list();
    expect(fetch.mock.calls[0]?.[1]?.headers).not.toHaveProperty("user-agent");
  });
});

describe.each([
  ["Node", { navigator: { userAgent: "Node.js/24" } }],
  ["Deno and its workers", { importScripts, navigator: { userAgent: "Deno/2.9.6" } }],
  ["Bun", { navigator: { userAgent: "Bun/1.4.5" } }],
  ["Cloudflare's workers", { navigator: { userAgent: "Cloudflare-Workers" } }],
  ["a server without a navigator", { navigator: undefined }],
  ["a server that pretends to be a browser", { navigator: { userAgent: CHROME } }],
])("on %s", (_, globals) => {
  it("a client runs, and names its package", async () => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
    const fetch = answersInTurn(emptyList);
    await new Ostiary({ ...secrets, fetch }).models.list();
    expect(fetch.mock.calls[0]?.[1]?.headers).toHaveProperty("user-agent");
  });
});

describe("in a runtime whose answers have no streams, as React Native's", () => {
  const fetch = async () => Object.defineProperty(emptyList(), "body", { value: undefined });
  const client = () => newClient({ fetch, managementToken: "mt-test" });
  const asked = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };

  it("a whole answer is read", async () => {
    expect((await client().models.list()).data).toEqual([]);
  });

  it.each([
    ["a stream", async () => collect(await client().chat.completions.create({ ...asked, stream: true }))],
    ["a stream with events", () => client().chat.completions.stream(asked).finalContent()],
    ["an export", () => collect(client().audit.export())],
    ["a tail", () => collect(client().audit.tail())],
  ])("%s fails at once, and says what is missing", async (_, read) => {
    const error = await caught(read());
    expect(error).toMatchObject({ name: "OstiaryError", message: expect.stringMatching(/cannot stream/) });
  });
});

describe("a key or token", () => {
  it.each([
    ["in quotation marks", '"sk-0123"'],
    ["in single ones", "'sk-0123'"],
    ["with Bearer before it", "Bearer sk-0123"],
  ])("of the environment that is %s is refused at once and not quoted", (_, value) => {
    for (const [variable, what] of [
      ["OSTIARY_API_KEY", "API key"],
      ["OSTIARY_MANAGEMENT_TOKEN", "management token"],
    ] as const) {
      vi.stubEnv(variable, value);
      expect(() => new Ostiary()).toThrow(
        new RegExp(`The ${what} in ${variable} is malformed: .*quotation mark`),
      );
      expect(() => new Ostiary()).not.toThrow(/0123/);
      vi.stubEnv(variable, undefined);
    }
  });

  it.each(["", "  "])("that is given but is empty does not give way to the environment's: %j", (empty) => {
    vi.stubEnv("OSTIARY_API_KEY", "sk-of-somebody-else");
    vi.stubEnv("OSTIARY_MANAGEMENT_TOKEN", "mt-of-somebody-else");
    expect(() => new Ostiary({ apiKey: empty })).toThrow(/API key is malformed: it is empty/);
    expect(() => new Ostiary({ managementToken: empty })).toThrow(/token is malformed: it is empty/);
    expect(() => new OstiaryOperator({ managementToken: empty })).toThrow(/token is malformed: it is empty/);
    expect(() => ostiaryLink({ managementToken: empty })).toThrow(/token is malformed: it is empty/);
  });

  it("of a service whose name is empty is that of the usual variable", () => {
    vi.stubEnv("OSTIARY_API_KEY", "sk-0123");
    expect(() => new Ostiary({ service: " " })).not.toThrow();
  });

  it("of the environment counts as absent if it is empty", () => {
    vi.stubEnv("OSTIARY_API_KEY", " \n");
    expect(() => new Ostiary()).toThrow(/No API key is set/);
  });

  it("that Deno may not read is said to lack a permission, and so is the address, whose default may be another service", async () => {
    const env = () => {
      throw new Error('Requires env access to "OSTIARY_API_KEY", run again with the --allow-env flag');
    };
    const { apiKey } = secrets;
    for (const [open, what, variable, option] of [
      [() => new Ostiary(), "API key", "OSTIARY_API_KEY", "apiKey"],
      [() => new OstiaryOperator(), "management token", "OSTIARY_MANAGEMENT_TOKEN", "managementToken"],
      [() => new Ostiary({ apiKey }), "base URL", "OSTIARY_BASE_URL", "baseURL"],
    ] as const) {
      vi.stubGlobal(
        "process",
        new Proxy(process, { get: (of, name) => (name === "env" ? env() : Reflect.get(of, name)) }),
      );
      const error = await caught(Promise.resolve().then<unknown>(open));
      expect(() => new Ostiary({ ...secrets, baseURL: "http://127.0.0.1:8080" })).not.toThrow();
      vi.unstubAllGlobals();
      const message = `No ${what} is set. Set the environment variable ${variable} (Deno lacks --allow-env), or pass ${option}.`;
      expect(error).toMatchObject({ message });
    }
  });
});

describe("a client with other options", () => {
  const sentBy = async (client: Ostiary, fetch: ReturnType<typeof answersInTurn>) => {
    await client.models.list();
    const [url, init] = fetch.mock.calls.at(-1) ?? [];
    return [String(url), new Headers(init?.headers).get("authorization")];
  };

  it("has the key and the address that the first one read, whatever the environment has by then", async () => {
    vi.stubEnv("OSTIARY_API_KEY", "sk-first");
    vi.stubEnv("OSTIARY_BASE_URL", "http://first.example");
    const fetch = answersInTurn(emptyList);
    const first = new Ostiary({ fetch });
    vi.stubEnv("OSTIARY_API_KEY", undefined);
    vi.stubEnv("OSTIARY_BASE_URL", "http://second.example");
    const sent = ["http://first.example/v1/models", "Bearer sk-first"];
    expect(await sentBy(first.withOptions({ timeout: 5_000 }), fetch)).toEqual(sent);
    expect(await sentBy(first.withOptions({}).withOptions({ maxRetries: 0 }), fetch)).toEqual(sent);
  });

  it("keeps those that are undefined, such as its key", async () => {
    vi.stubEnv("OSTIARY_API_KEY", "sk-of-somebody-else");
    const fetch = answersInTurn(emptyList);
    const first = new Ostiary({ fetch, apiKey: "sk-own", baseURL: "http://own.example" });
    const other = first.withOptions({ apiKey: undefined, baseURL: undefined, timeout: undefined });
    expect(await sentBy(other, fetch)).toEqual(["http://own.example/v1/models", "Bearer sk-own"]);
  });

  it("reads the variables of another service's name", async () => {
    vi.stubEnv("OSTIARY_API_KEY", "sk-first");
    vi.stubEnv("ACME_API_KEY", "sk-acme");
    vi.stubEnv("ACME_BASE_URL", "https://acme.example");
    const fetch = answersInTurn(emptyList);
    const acme = new Ostiary({ fetch }).withOptions({ service: "ACME" });
    expect(await sentBy(acme, fetch)).toEqual(["https://acme.example/v1/models", "Bearer sk-acme"]);
  });
});
