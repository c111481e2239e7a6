import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../fixtures/service.ts";

const FOLDER = join(ROOT, "docs/reference");
const DOCUMENT = readFileSync(join(FOLDER, "sdk-comparison.md"), "utf8");
/** The packages compared with, and their versions, from the first table. */
const PACKAGES = [...DOCUMENT.matchAll(/^\| `(\S+)` +\| (\d+\.\d+\.\d+) +\|$/gm)].map(
  ([, name = "", version = ""]) => ({ name, version }),
);
const ADDRESSES = new Map(
  [...DOCUMENT.matchAll(/^\[([\w-]+)\]: (\S+)$/gm)].map(([, label = "", address = ""]) => [label, address]),
);
/** A row of the comparison: a feature, and a cell for each package. */
const ROWS = [...DOCUMENT.matchAll(/^\| (.+) \|$/gm)]
  .map(([, row = ""]) => row.split(" | ").map((cell) => cell.trim()))
  .filter((cells) => cells.length === 5 && cells[0] !== "feature" && !cells[0]?.startsWith("---"))
  .map(([feature = "", ostiary = "", ...others]) => ({ feature, ostiary, others }));

/** The links of a cell with a target in the repository: `[text](target#anchor "title")`. */
function linksOf(cell: string) {
  return [...cell.matchAll(/\]\(([^)#\s]+)(?:#([\w-]+))?(?: (["'])(.+?)\3)?\)/g)].map(
    ([, target = "", anchor, , title]) => ({ file: join(FOLDER, target), anchor, title }),
  );
}

/** Whether a file has a test with this title. */
function hasTest(file: string, title: string): boolean {
  const escaped = title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`\\(\\s*(["'\`])${escaped}\\1,\\s*(?:async\\s*)?\\(`).test(readFileSync(file, "utf8"));
}

function hasHeading(file: string, anchor: string): boolean {
  return [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].some(
    ([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, "")
        .replaceAll(" ", "-") === anchor,
  );
}

describe("docs/reference/sdk-comparison.md", () => {
  it("compares the features that users of the three other packages know", () => {
    expect(PACKAGES.map(({ name }) => name)).toEqual(["openai", "@anthropic-ai/sdk", "stripe"]);
    expect(ROWS.length).toBeGreaterThan(35);
    const features = ROWS.map(({ feature }) => feature).join("\n");
    const known = ["withOptions", "fetchOptions", "HTTPS_PROXY", "asResponse", "await using", "tee", "parse"];
    known.push(
      "query",
      "toReadableStream",
      "toArray",
      "runTools",
      "VERSION",
      "User-Agent",
      "log of requests",
    );
    known.push("events", "timeout", "retries", "idempotency keys", "nobody listens");
    expect(known.filter((name) => !features.includes(name))).toEqual([]);
  });

  it.each(ROWS)("links $feature of ostiary to the test or the section that shows it", ({ ostiary }) => {
    const links = linksOf(ostiary);
    expect(links.length).toBe(ostiary.split("](").length - 1);
    expect(links.length).toBeGreaterThan(0);
    for (const { file, anchor, title } of links) {
      expect(existsSync(file), file).toBe(true);
      const isShown = file.endsWith(".test.ts")
        ? title !== undefined && hasTest(file, title)
        : anchor !== undefined && hasHeading(file, anchor);
      expect(isShown, `${file}: ${title ?? anchor}`).toBe(true);
    }
  });

  it.each(ROWS)("links $feature of others to a file of the version that is compared", ({ others }) => {
    expect(others).toHaveLength(PACKAGES.length);
    for (const [index, cell] of others.entries()) {
      const { name, version } = PACKAGES[index] ?? { name: "", version: "" };
      const labels = [...cell.matchAll(/\]\[([\w-]+)\]/g)].map(([, label = ""]) => label);
      expect(labels.length, cell).toBeGreaterThan(0);
      for (const label of labels) {
        expect(ADDRESSES.get(label)).toMatch(new RegExp(`^https://unpkg\\.com/${name}@${version}/\\S+$`));
      }
    }
  });
});
