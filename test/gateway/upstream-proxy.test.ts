import { describe, expect, it } from "vitest";
import { ConfigError, readConfig } from "../../server/src/config/config.ts";
import { Proxies } from "../../server/src/upstream/http/proxies.ts";

const [SECURE, PLAIN] = ["http://proxy.example:3128", "http://plain.example:8080"];

/** The host of the proxy for a URL; `null`: it is reached directly. */
function proxyFor(
  url: string,
  except: readonly string[] = [],
  proxies: Proxies | null = null,
): string | null {
  const found = (proxies ?? new Proxies({ https: SECURE, http: PLAIN, except })).of(new URL(url));
  return found?.address.host ?? null;
}

describe("the proxy of an upstream", () => {
  it("is that of its scheme", () => {
    expect(proxyFor("https://api.example/v1")).toBe("proxy.example:3128");
    expect(proxyFor("http://api.example/v1")).toBe("plain.example:8080");
    const only = new Proxies({ https: SECURE, http: null, except: [] });
    expect(proxyFor("http://api.example/v1", [], only)).toBeNull();
  });

  it.each(["localhost:11434", "models.localhost", "127.0.0.1:8000", "127.3.2.1", "[::1]:8000"])(
    "is not used on this machine: %s",
    (host) => {
      expect(proxyFor(`http://${host}/v1`)).toBeNull();
      expect(proxyFor(`https://${host}/v1`)).toBeNull();
    },
  );

  it.each([
    ["https://api.example/v1", "api.example"],
    ["https://api.example/v1", "API.example"],
    ["https://eu.api.example/v1", "api.example"],
    ["https://eu.api.example/v1", ".api.example"],
    ["https://eu.api.example/v1", "*.api.example"],
    ["https://api.example/v1", "api.example:443"],
    ["http://api.example:8000/v1", "api.example:8000"],
    ["https://api.example/v1", "*"],
    ["http://10.1.2.3/v1", "10.0.0.0/8"],
    ["http://10.1.2.3/v1", "10.1.2.3"],
    ["http://10.1.2.3:8000/v1", "10.1.2.3:8000"],
    ["http://[fd00::7]/v1", "fd00::/8"],
    ["http://[fd00::7]/v1", "fd00::7"],
    ["http://[fd00::7]:8000/v1", "[fd00::7]:8000"],
  ])("is not used for %s with NO_PROXY=%s", (url, entry) => {
    expect(proxyFor(url, ["other.example", entry])).toBeNull();
  });

  it.each([
    ["https://myapi.example/v1", "api.example"],
    ["https://api.example.evil/v1", "api.example"],
    ["https://api.example/v1", "api.example:8443"],
    ["https://api.example/v1", "eu.api.example"],
    ["http://11.1.2.3/v1", "10.0.0.0/8"],
    ["http://[fd00::7]:8000/v1", "[fd00::7]:9000"],
    ["https://api.example/v1", "10.0.0.0/8"],
  ])("is used for %s with NO_PROXY=%s", (url, entry) => {
    expect(proxyFor(url, [entry])).not.toBeNull();
  });

  it.each([
    ["user:p%40ss", "user:p@ss"],
    ["user:50%off", "user:50%off"],
    ["user", "user:"],
  ])("gets the user and password of its URL: %s", (given, sent) => {
    const proxies = new Proxies({ https: `http://${given}@proxy.example:3128`, http: null, except: [] });
    expect(proxies.of(new URL("https://api.example"))).toMatchObject({
      address: { username: "", password: "", port: "3128" },
      credential: ["proxy-authorization", `Basic ${Buffer.from(sent).toString("base64")}`],
    });
  });
});

/** What is wrong with the environment. */
function problemsOf(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}

describe("the settings of proxies", () => {
  it("may be in lower case, which takes precedence, and without a scheme", () => {
    const { upstreamProxies } = readConfig({
      HTTPS_PROXY: "http://other.example:1",
      https_proxy: "proxy.example:3128",
      no_proxy: "a.example, 10.0.0.0/8 .b.example",
    });
    expect(upstreamProxies).toEqual({
      https: "http://proxy.example:3128",
      http: null,
      except: ["a.example", "10.0.0.0/8", ".b.example"],
    });
  });

  it.each([
    "socks5://user:secret@proxy.example:1080",
    "http://user:secret@proxy.example:70000",
    "http://user:secret@proxy.example/path",
    "http://user:se cret@",
  ])("are refused without what may be secret: %s", (HTTPS_PROXY) => {
    const problems = problemsOf({ HTTPS_PROXY });
    expect(problems).toEqual([expect.stringMatching(/^HTTPS_PROXY: must be .* of an HTTP proxy, such as/)]);
    expect(problems.join()).not.toMatch(/secret|se cret/);
  });

  it("are refused with what is no host", () => {
    expect(problemsOf({ NO_PROXY: "a.example,10.0.0.0/33,https://b.example" })).toEqual([
      expect.stringMatching(/^NO_PROXY: "10\.0\.0\.0\/33" must be a host/),
      expect.stringMatching(/^NO_PROXY: "https:\/\/b\.example" must be a host/),
    ]);
  });

  it("are named in messages as the environment names them", () => {
    expect(
      problemsOf({ https_proxy: "socks5://proxy.example", http_proxy: '"http://proxy.example"' }),
    ).toEqual([
      "http_proxy: has quotation marks around its value. Remove them",
      expect.stringMatching(/^https_proxy: must be/),
    ]);
    expect(problemsOf({ HTTP_PROXY_FILE: "/run/secrets/proxy", http_proxy: "proxy.example" })).toEqual([
      "HTTP_PROXY_FILE: is set together with http_proxy. Set one of them",
    ]);
  });

  it.each(["NO_PROXY", "TRUSTED_PROXIES", "OSTIARY_METRICS_FROM", "OSTIARY_ALLOWED_ORIGINS"])(
    "are not repeated where they are no value: in %s",
    (name) => {
      const problems = problemsOf({ [name]: "http://user:secret@proxy.example:3128/" });
      expect(problems).toEqual([expect.stringContaining(`${name}: an entry with a user or password `)]);
      expect(problems.join()).not.toContain("secret");
    },
  );

  it("are logged without a user and password", () => {
    const { logged } = readConfig({ HTTPS_PROXY: "user:secret@proxy.example:3128" });
    expect(logged).toMatchObject({ HTTPS_PROXY: "http://proxy.example:3128/" });
    expect(JSON.stringify(logged)).not.toContain("secret");
  });
});
