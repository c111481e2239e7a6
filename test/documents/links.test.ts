import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../fixtures/service.ts";
import { DOCUMENTS, readDocument } from "./snippets.ts";

const inCode = (path: string) =>
  [...readDocument(path).matchAll(/`([^`\s]+)`/g)].map(([, code = ""]) => code);

describe("links", () => {
  it.each(DOCUMENTS)("of %s lead to files and headings that exist", (path) => {
    const broken = [...readDocument(path).matchAll(/\]\(([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([, target = "", anchor]) => {
        if (/^https?:/.test(target)) return [];
        const file = target === "" ? path : join(path, "..", target);
        if (!existsSync(join(ROOT, file))) return [target];
        return anchor === undefined || anchorsOf(file).includes(anchor) ? [] : [`${target}#${anchor}`];
      },
    );
    expect(broken).toEqual([]);
  });

  it("of docs/README.md lead to every document except the decisions", () => {
    const index = readDocument("docs/README.md");
    const missing = DOCUMENTS.filter((path) => path.startsWith("docs/") && !path.includes("/decisions/"))
      .map((path) => path.slice("docs/".length))
      .filter((path) => path !== "README.md" && !index.includes(`](${path})`));
    expect(missing).toEqual([]);
  });
});

describe("paths", () => {
  const described = DOCUMENTS.filter((path) => path.startsWith("docs/"));

  it.each(described)("of source files in %s exist", (path) => {
    const sources = inCode(path).filter((code) =>
      /^(server|sdk|dashboard-ui|test|scripts|packages)\/[\w./-]+$/.test(code),
    );
    expect(sources.filter((source) => !existsSync(join(ROOT, source)))).toEqual([]);
  });

  it.each(described.filter((path) => path.startsWith("docs/explanation/")))(
    "of tests in %s exist",
    (path) => {
      const tests = readdirSync(join(ROOT, "test"), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name);
      const named = inCode(path).filter(
        (code) => tests.includes(code.split("/")[0] ?? "") && code.includes("/"),
      );
      if (/failures|threat-model/.test(path)) expect(named.length).toBeGreaterThan(20);
      // Folders of sources have the same names as some of tests.
      const places = (name: string) => [`test/${name}`, `test/${name}.test.ts`, `server/src/${name}`, name];
      const missing = named.filter((name) => !places(name).some((place) => existsSync(join(ROOT, place))));
      expect(missing).toEqual([]);
    },
  );
});

describe("names of the code", () => {
  /** Names of others that the documents mention and the code does not. */
  const OTHERS = [
    "EnvHttpProxyAgent",
    "File_name",
    "HttpOnly",
    "PR_SET_PDEATHSIG",
    "SO_REUSEPORT",
    "SameSite",
  ];
  const folders = [
    "server/src",
    "sdk/src",
    "dashboard-ui/src",
    "packages/embedded-postgres",
    "deploy",
    "test/fixtures",
  ];
  const sources = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => /\.(ts|tsx|mjs|css|sql|sh|ya?ml)$/.test(path) && !path.includes("node_modules"))
      .map((path) => join(folder, path)),
  );
  const known = new Set(
    sources.flatMap((path) => readFileSync(join(ROOT, path), "utf8").match(/\w+/g) ?? []),
  );
  const explanations = DOCUMENTS.filter((path) => path.startsWith("docs/explanation/"));

  it.each(explanations)("in %s exist", (path) => {
    const text = readDocument(path).replace(/^```.*?^```$/gms, "");
    const named = [...text.matchAll(/`([^`]+)`/g)].flatMap(([, code = ""]) => code.match(/\w+/g) ?? []);
    // What is written like a plain word, such as a command, may be anything.
    const names = named.filter((name) => /[a-z][A-Z]|_/.test(name));
    expect(names.filter((name) => !known.has(name) && !OTHERS.includes(name))).toEqual([]);
  });

  it.each(explanations)("as files in %s exist", (path) => {
    const files = inCode(path).filter((code) => /^[\w/-]+\.(ts|tsx|mjs)$/.test(code));
    const missing = files.filter((file) => !sources.some((source) => `/${source}`.endsWith(`/${file}`)));
    expect(missing).toEqual([]);
  });
});

/** The anchors that GitHub creates for headings. */
function anchorsOf(path: string): readonly string[] {
  return [...readDocument(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-"),
  );
}
