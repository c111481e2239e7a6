import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Its meaning is the same for every Node program. */
const NOT_OURS = ["NODE_ENV"];

describe("docs/configuration.md", () => {
  const settings = [...read("server/src/config/config.ts").matchAll(/^ {2}([A-Z][A-Z_]+): /gm)].map(
    ([, name = ""]) => name,
  );
  const documented = [...read("docs/configuration.md").matchAll(/^\| (`[^|]+`)\s*\|/gm)].flatMap(
    ([, cell = ""]) => cell.split(",").map((name) => name.replace(/[` ]/g, "")),
  );

  it("describes every setting, and nothing that is none", () => {
    expect(settings.length).toBeGreaterThan(20);
    expect(documented.toSorted()).toEqual(settings.filter((name) => !NOT_OURS.includes(name)).toSorted());
  });
});

describe("links of the documents", () => {
  const documents = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "sdk/README.md"].concat(
    ["api", "architecture", "catalog", "configuration", "credit", "failures", "glossary", "operators"].map(
      (name) => `docs/${name}.md`,
    ),
    "docs/threat-model.md",
  );

  it.each(documents)("of %s lead somewhere", (path) => {
    const broken = [...read(path).matchAll(/\]\(([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([, target = "", anchor]) => {
        if (/^https?:/.test(target)) return [];
        const file = target === "" ? path : join(path, "..", target);
        if (!isThere(file)) return [target];
        return anchor === undefined || anchorsOf(file).includes(anchor) ? [] : [`${target}#${anchor}`];
      },
    );
    expect(broken).toEqual([]);
  });
});

function isThere(path: string): boolean {
  try {
    readFileSync(join(ROOT, path));
    return true;
  } catch (error) {
    // A folder.
    return error instanceof Error && "code" in error && error.code === "EISDIR";
  }
}

/** As GitHub makes them of headings. */
function anchorsOf(path: string): readonly string[] {
  return [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-"),
  );
}
