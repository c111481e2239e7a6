import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { VERSION } from "../../sdk/src/core/version.ts";
import { type Project, projectWithPackage } from "../fixtures/package.ts";
import { ROOT } from "../fixtures/service.ts";

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly string[];
}

const BUNDLES = ["cli.js", "index.cjs", "index.js", "operator.cjs", "operator.js", "trpc.cjs", "trpc.js"];

let project: Project;
let installed: string;
const read = (path: string): string => readFileSync(join(installed, path), "utf8");
const sourceMapOf = (bundle: string): SourceMap => JSON.parse(read(`dist/${bundle}.map`));

beforeAll(() => {
  project = projectWithPackage();
  installed = join(project.folder, "node_modules/ostiary");
});

afterAll(() => project?.[Symbol.dispose]());

describe("the packed package", () => {
  it("has its license, changelog, description and bundles, and neither sources nor examples", () => {
    expect(readdirSync(installed).toSorted()).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "dist",
      "operator",
      "package.json",
      "trpc",
    ]);
    expect(read("LICENSE")).toBe(readFileSync(join(ROOT, "LICENSE"), "utf8"));
    const code = readdirSync(join(installed, "dist"), { recursive: true, encoding: "utf8" });
    expect(code.filter((name) => /\.c?js$/.test(name)).toSorted()).toEqual(BUNDLES);
  });

  it.each(["operator", "trpc"])(
    "has %s as a folder, for bundlers that read no exports, such as Parcel",
    (entry) => {
      const { exports } = JSON.parse(read("package.json"));
      const { main, types } = JSON.parse(read(`${entry}/package.json`));
      const { require } = exports[`./${entry}`];
      expect([join(entry, main), join(entry, types)]).toEqual(
        [require.default, require.types].map((path) => join(path)),
      );
    },
  );

  it("has one version everywhere", () => {
    expect(JSON.parse(read("package.json")).version).toBe(VERSION);
    expect(JSON.parse(readFileSync(join(ROOT, "sdk/jsr.json"), "utf8")).version).toBe(VERSION);
    expect(read("CHANGELOG.md")).toMatch(new RegExp(`^## ${VERSION.replaceAll(".", "\\.")} \\(`, "m"));
    expect(
      execFileSync(process.execPath, [join(installed, "dist/cli.js"), "--version"], { encoding: "utf8" }),
    ).toBe(`${VERSION}\n`);
  });

  it("has no relative links in its documents, which lead nowhere outside of the repository", () => {
    for (const document of ["README.md", "CHANGELOG.md"]) {
      const targets = [...read(document).matchAll(/\]\(([^)\s]+)/g)].map(([, target = ""]) => target);
      expect(
        targets.filter((target) => !/^(https:\/\/|#)/.test(target)),
        document,
      ).toEqual([]);
    }
  });
});

describe("source maps", () => {
  it.each(BUNDLES)("of %s contain every source, without paths of the machine that built it", (bundle) => {
    expect(read(`dist/${bundle}`)).toMatch(new RegExp(`//# sourceMappingURL=${bundle}\\.map\\n$`));
    const { sources, sourcesContent } = sourceMapOf(bundle);
    expect(sources.length).toBeGreaterThan(10);
    expect(sources.filter((source) => !/^\.\.\/(src|\.\.\/node_modules)\/[\w@/.-]+$/.test(source))).toEqual(
      [],
    );
    for (const [index, source] of sources.entries()) {
      expect(sourcesContent[index], source).toBe(readFileSync(join(ROOT, "sdk/dist", source), "utf8"));
    }
  });

  it("lead from an error to the line of the source", () => {
    writeFileSync(
      join(project.folder, "fails.mjs"),
      'import Ostiary from "ostiary";\ntry { new Ostiary({ apiKey: "sk-x", timeout: -1 }); } catch (error) { console.log(error.stack); }',
    );
    const stack = execFileSync(process.execPath, ["--enable-source-maps", "fails.mjs"], {
      cwd: project.folder,
      encoding: "utf8",
    });
    expect(stack).toMatch(/ostiary\/src\/client\.ts:\d+:\d+/);
  });
});

describe("the notices of third parties", () => {
  const packageOf = (source: string): string => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? "";

  it("have the license of each package whose code is in a bundle, and of no other", () => {
    const sources = BUNDLES.flatMap((bundle) => sourceMapOf(bundle).sources);
    const bundled = [...new Set(sources.map(packageOf).filter((name) => name !== ""))].toSorted();
    expect(bundled).toEqual(["commander"]);
    const notices = read("dist/THIRD-PARTY-NOTICES.txt");
    const named = [...notices.matchAll(/^-{80}\n\n(\S+) (\S+) \(.+\)$/gm)].map(([, name, version]) => ({
      name,
      version,
    }));
    expect(named).toEqual(
      bundled.map((name) => {
        const { version } = JSON.parse(
          readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8"),
        );
        return { name, version };
      }),
    );
    for (const name of bundled) {
      expect(notices).toContain(readFileSync(join(ROOT, "node_modules", name, "LICENSE"), "utf8").trim());
    }
  });
});

describe("an application's bundle", () => {
  const sizeOf = async (code: string): Promise<number> => {
    const { outputFiles } = await build({
      stdin: { contents: code, resolveDir: project.folder },
      bundle: true,
      write: false,
      minify: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
    });
    return outputFiles[0]?.contents.length ?? Number.NaN;
  };

  it("has nothing of the package when it uses nothing of it", async () => {
    for (const entry of ["ostiary", "ostiary/operator", "ostiary/trpc"]) {
      expect(await sizeOf(`import "${entry}";`), entry).toBe(0);
    }
  });

  it("has little of the package when it uses little of it", async () => {
    const whole = await sizeOf('import Ostiary from "ostiary"; console.log(Ostiary);');
    const errors = await sizeOf('import { RateLimitError } from "ostiary"; console.log(RateLimitError);');
    expect(whole).toBeGreaterThan(30_000);
    expect(errors).toBeLessThan(whole / 4);
  });
});
