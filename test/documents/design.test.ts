// The design system's scales: style sheets take their values from `tokens.css`, and nothing else.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const SOURCES = fileURLToPath(new URL("../../dashboard-ui/src/", import.meta.url));
const BREAKPOINTS = ["45em", "60em", "75em"];
const COLOURED = /#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(/i;

interface Declaration {
  readonly where: string;
  readonly text: string;
}

const sheets = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".css"),
);
const modules = sheets.filter((name) => name.endsWith(".module.css"));

/** The declarations of a property in every module. */
function declarationsOf(property: string): readonly Declaration[] {
  return modules.flatMap((name) =>
    readFileSync(join(SOURCES, name), "utf8")
      .split("\n")
      .flatMap((line, index) => {
        const text = new RegExp(String.raw`^\s*${property}:\s*(.+);$`).exec(line)?.[1];
        return text === undefined ? [] : [{ where: `${name}:${index + 1}`, text }];
      }),
  );
}

function othersThan(allowed: RegExp, property: string): readonly string[] {
  return declarationsOf(property)
    .filter(({ text }) => !allowed.test(text))
    .map(({ where, text }) => `${where} ${property}: ${text}`);
}

/** The scale in tokens.css whose names begin so. */
function tokens(prefix: string): readonly string[] {
  const text = readFileSync(join(SOURCES, "styles/tokens.css"), "utf8");
  return [...text.matchAll(new RegExp(String.raw`^\s*(--${prefix}-[\w]+):`, "gm"))].map(
    ([, name]) => name ?? "",
  );
}

describe("the design system", () => {
  it("has six sizes of type, eight spaces, three weights and three elevations", () => {
    expect(tokens("text")).toHaveLength(6);
    expect(tokens("space")).toHaveLength(8);
    expect(tokens("weight")).toHaveLength(3);
    expect(declarationsOf("font-size").length).toBeGreaterThan(50);
  });

  it("is where sizes of type come from", () => {
    expect(othersThan(/^(?:var\(--text-\w+\)|inherit|1em)$/, "font-size")).toEqual([]);
    expect(othersThan(/^(?:var\(--|inherit)/, "font")).toEqual([]);
  });

  it("is where weights come from", () => {
    expect(othersThan(/^(?:var\(--weight-\w+\)|inherit)$/, "font-weight")).toEqual([]);
  });

  it("is where gaps and paddings come from", () => {
    const space = String.raw`-?(?:var\(--[\w-]+\)|calc\(.+\)|0|auto|[12]px|[2-9](?:\.\d+)?rem|-?[\d.]+em)`;
    const several = new RegExp(`^${space}(?: ${space})*$`);
    for (const property of ["gap", "padding"]) expect(othersThan(several, property)).toEqual([]);
    const free = ["gap", "padding", "margin"].flatMap((property) =>
      declarationsOf(property).filter(({ text }) => /(?<![\w.])0?\.\d+rem/.test(text)),
    );
    expect(free).toEqual([]);
  });

  it("has the windows at which pages change", () => {
    const other = modules.flatMap((name) =>
      [...readFileSync(join(SOURCES, name), "utf8").matchAll(/@media[^{]*/g)]
        .flatMap(([query]) => [...query.matchAll(/\d[\d.]*[a-z]+/g)].map(([width]) => width))
        .filter((width) => !BREAKPOINTS.includes(width))
        .map((width) => `${name} ${width}`),
    );
    expect(other).toEqual([]);
  });

  it("is where colours come from", () => {
    const own = modules
      // The mark keeps its colours in both themes.
      .filter((name) => !name.endsWith("Mark.module.css") || name.endsWith("ProviderMark.module.css"))
      .flatMap((name) =>
        readFileSync(join(SOURCES, name), "utf8")
          .split("\n")
          .filter((line) => COLOURED.test(line) && !line.includes("data:image"))
          .map((line) => `${name} ${line.trim()}`),
      );
    expect(own).toEqual([]);
  });
});
