import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../fixtures/service.ts";
import { DOCUMENTS, readDocument } from "./snippets.ts";

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
  const inCode = (path: string) =>
    [...readDocument(path).matchAll(/`([^`\s]+)`/g)].map(([, code = ""]) => code);

  it.each(described)("of source files in %s exist", (path) => {
    const sources = inCode(path).filter((code) =>
      /^(server|sdk|dashboard-ui|test|scripts|packages)\/[\w./-]+$/.test(code),
    );
    expect(sources.filter((source) => !existsSync(join(ROOT, source)))).toEqual([]);
  });

  it.each(["docs/explanation/failures.md", "docs/explanation/threat-model.md"])(
    "of tests in %s exist",
    (path) => {
      const tests = readdirSync(join(ROOT, "test"), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name);
      const named = inCode(path).filter(
        (code) => tests.includes(code.split("/")[0] ?? "") && code.includes("/"),
      );
      expect(named.length).toBeGreaterThan(20);
      const missing = named.filter(
        (name) => !["", ".test.ts"].some((end) => existsSync(join(ROOT, "test", `${name}${end}`))),
      );
      expect(missing).toEqual([]);
    },
  );
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
