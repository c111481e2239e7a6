import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { Authority, hasOpenSsl } from "../fixtures/certificate.ts";
import { freePort } from "../fixtures/free-port.ts";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { readDocument, SNIPPETS, type Snippet, snippetsIn } from "./snippets.ts";

/**
 * Every language that a test of this folder runs or parses. Plain text is diagrams and message formats. `integration/responses-storage` runs the
 * statements of SQL.
 */
const CHECKED = ["", "env", "haproxy", "json", "nginx", "sh", "sql", "ts", "yaml"];
/** `test/clients/connect.test.ts` runs its code, in the languages of each client. */
const GUIDE_TO_CLIENTS = "docs/how-to/connect-clients.md";
const NGINX = "/usr/sbin/nginx";
const HAPROXY = "/usr/sbin/haproxy";
const ENVOY = process.env.ENVOY ?? "/usr/bin/envoy";

const named = (snippets: readonly Snippet[]) =>
  snippets.map((snippet) => ({ ...snippet, name: `${snippet.document}:${snippet.line}` }));
const isCatalog = ({ code }: Snippet) => /^models:$/m.test(code);

describe("snippets", () => {
  it("are in a language that is checked", () => {
    const others = SNIPPETS.filter(({ document }) => document !== GUIDE_TO_CLIENTS);
    expect(others.filter(({ language }) => !CHECKED.includes(language))).toEqual([]);
  });

  it.each(named(snippetsIn("json")))("$name is valid JSON", ({ code }) => {
    expect(() => JSON.parse(code)).not.toThrow();
  });

  it.each(named(snippetsIn("yaml")))("$name is valid YAML", ({ code }) => {
    expect(parse(code)).toBeTypeOf("object");
  });

  it.each(named(snippetsIn("yaml").filter(isCatalog)))(
    "$name is a catalog that the service accepts",
    async ({ code }) => {
      const folder = await mkdtemp(join(tmpdir(), "ostiary-catalog-"));
      try {
        const path = join(folder, "catalog.yaml");
        await writeFile(path, code);
        const variables = [...code.matchAll(/credentialEnv: "?(\w+)/g)].map(([, name = ""]) => [
          name,
          "secret",
        ]);
        await using service = await startService({
          env: { OSTIARY_CATALOG: path, ...Object.fromEntries(variables) },
        });
        const { key } = await signUpWithKey(service.baseUrl);
        const headers = { authorization: `Bearer ${key}` };
        const { data } = await (await fetch(`${service.baseUrl}/v1/models`, { headers })).json();
        expect(data.map(({ id }: { id: string }) => id)).toEqual(
          expect.arrayContaining(parse(code).models.map(({ id }: { id: string }) => id)),
        );
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

  it.each(named(snippetsIn("env")))("$name names settings of the service, or credentials", ({ code }) => {
    const names = code
      .trim()
      .split("\n")
      .map((line) => /^([A-Z][A-Z0-9_]*)=.+$/.exec(line)?.[1]);
    const configuration = readDocument("docs/reference/configuration.md");
    const unknown = names.filter(
      (name) => name === undefined || !(configuration.includes(`\`${name}\``) || name.endsWith("_API_KEY")),
    );
    expect(unknown).toEqual([]);
  });

  it.skipIf(!existsSync(NGINX) || !hasOpenSsl).each(named(snippetsIn("nginx")))(
    "$name is accepted by nginx",
    async ({ code }) => {
      using authority = new Authority();
      const folder = await mkdtemp(join(tmpdir(), "ostiary-nginx-"));
      try {
        const path = join(folder, "nginx.conf");
        const { cert, key } = authority.sign();
        await writeFile(join(folder, "tls.crt"), cert);
        await writeFile(join(folder, "tls.key"), key);
        const server = code
          .replaceAll("/etc/nginx/", `${folder}/`)
          .replace("listen 443", `listen 127.0.0.1:${await freePort()}`);
        await writeFile(path, `pid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\n${server}}\n`);
        expect(() => execFileSync(NGINX, ["-t", "-c", path, "-p", folder], { stdio: "pipe" })).not.toThrow();
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

  it.skipIf(!existsSync(HAPROXY) || !hasOpenSsl).each(named(snippetsIn("haproxy")))(
    "$name is accepted by HAProxy",
    async ({ code }) => {
      using authority = new Authority();
      const folder = await mkdtemp(join(tmpdir(), "ostiary-haproxy-"));
      try {
        const path = join(folder, "haproxy.cfg");
        const { cert, key } = authority.sign();
        await writeFile(join(folder, "models.example.com.pem"), cert + key);
        await writeFile(path, code.replaceAll("/etc/haproxy/", `${folder}/`));
        expect(() => execFileSync(HAPROXY, ["-c", "-f", path], { stdio: "pipe" })).not.toThrow();
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

  const isEnvoys = ({ code }: Snippet) => code.startsWith("static_resources:");
  it.skipIf(!existsSync(ENVOY) || !hasOpenSsl).each(named(snippetsIn("yaml").filter(isEnvoys)))(
    "$name is accepted by Envoy",
    async ({ code }) => {
      using authority = new Authority();
      const folder = await mkdtemp(join(tmpdir(), "ostiary-envoy-"));
      try {
        const path = join(folder, "envoy.yaml");
        const { cert, key } = authority.sign();
        await writeFile(join(folder, "tls.crt"), cert);
        await writeFile(join(folder, "tls.key"), key);
        await writeFile(path, code.replaceAll("/etc/envoy/", `${folder}/`));
        expect(() =>
          execFileSync(ENVOY, ["--mode", "validate", "-c", path], { stdio: "pipe" }),
        ).not.toThrow();
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );
});
