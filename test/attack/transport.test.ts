import { describe, expect, it } from "vitest";
import { readConfig } from "../../server/src/config/config.ts";
import { banner } from "../../server/src/start/banner.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";

describe("a service that is reachable from other machines without TLS", () => {
  it.each([
    [{ HOST: "0.0.0.0" }, true],
    [{ HOST: "::" }, true],
    [{ HOST: "192.0.2.7", OSTIARY_PUBLIC_URL: "http://api.example.com" }, true],
    [{ HOST: "0.0.0.0", TRUSTED_PROXIES: "10.0.0.0/8" }, false],
    [{ HOST: "0.0.0.0", OSTIARY_PUBLIC_URL: "https://api.example.com" }, false],
    [{ HOST: "0.0.0.0", TLS_CERT_FILE: "tls.crt", TLS_KEY_FILE: "tls.key" }, false],
    [{ HOST: "127.example.com" }, true],
    [{ HOST: "127.0.0.1" }, false],
    [{ HOST: "localhost" }, false],
    [{}, false],
  ])("has a warning with the settings %j: %s", (environment, isWarned) => {
    expect(readConfig(environment).warnings).toHaveLength(isWarned ? 1 : 0);
  });

  it("prints the warning beside its address", () => {
    const { warnings } = readConfig({ HOST: "0.0.0.0" });
    const facts = { serviceName: "O", url: "u", listensOn: "l", database: "d", models: [], demo: null };
    expect(banner({ ...facts, warnings })).toMatch(/^WARNING: .* without TLS/m);
    expect(banner({ ...facts, warnings: [] })).not.toContain("WARNING");
  });
});

describe("a service behind HTTPS", () => {
  it("sends HSTS to browsers, and logs no warning", async () => {
    await using service = await startOperatedService({
      env: { OSTIARY_PUBLIC_URL: "https://api.example.com" },
    });
    for (const path of ["/", "/sign-in", "/assets/none.js"]) {
      const response = await fetch(service.baseUrl + path);
      expect(response.headers.get("strict-transport-security")).toBe("max-age=31536000");
    }
    const operator = await signInOperator(service.baseUrl);
    expect(await operator.trpc.operator.warnings.query()).toEqual({ warnings: [] });
  });

  it("sends no HSTS when its public URL is not HTTPS", async () => {
    await using service = await startOperatedService();
    expect((await fetch(service.baseUrl)).headers.has("strict-transport-security")).toBe(false);
  });
});
