import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../fixtures/service.ts";

const GITHUB = {
  GITHUB_SERVER_URL: "https://git.example",
  GITHUB_REPOSITORY: "someone/ostiary",
  ACTIONS_ID_TOKEN_REQUEST_URL: "https://token.example",
};

let folder: string;
let repository: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-release-test-"));
  repository = join(folder, "repository");
  for (const path of ["scripts", "sdk/src/core", "sdk/dist", "server"])
    mkdirSync(join(repository, path), { recursive: true });
  copyFileSync(join(ROOT, "scripts/release.mjs"), join(repository, "scripts/release.mjs"));
  // Packs a server of the version that the repository has.
  write(
    "scripts/pack-server.mjs",
    `import { execFileSync } from "node:child_process";
process.chdir(new URL("../server", import.meta.url).pathname);
execFileSync("npm", ["pack", "--silent", "--pack-destination", process.argv[2]]);
`,
  );
  write("scripts/sbom.mjs", 'process.stdout.write(JSON.stringify({ bomFormat: "CycloneDX" }));\n');
  write(
    "scripts/image.mjs",
    `import { appendFileSync } from "node:fs";
appendFileSync("${join(folder, "calls")}", "image " + process.argv.slice(2).join(" ") + "\\n");
`,
  );
  write("LICENSE", "A license\n");
  write(".gitignore", "/release/\n");
  write("server/package.json", JSON.stringify({ name: "ostiary-server", version: "1.2.3" }));
  write("sdk/package.json", JSON.stringify({ name: "ostiary", version: "1.2.3", files: ["dist"] }));
  write("sdk/jsr.json", JSON.stringify({ version: "1.2.3" }));
  write("sdk/src/core/version.ts", 'export const VERSION = "1.2.3";\n');
  write("sdk/CHANGELOG.md", "# Changelog\n\n## 1.2.3 (2026-11-22)\n");
  write("sdk/dist/index.js", "export {};\n");
  git("init", "--quiet");
  commit();
  git("tag", "v1.2.3");
  installRecordingNpm();
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, content: string): void {
  writeFileSync(join(repository, path), content);
}

function git(...args: readonly string[]): void {
  execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.com", ...args], {
    cwd: repository,
  });
}

function commit(): void {
  git("add", "--all");
  git("commit", "--quiet", "--message", "A change");
}

/** An npm that packs, and records what else it is asked to do. */
function installRecordingNpm(): void {
  mkdirSync(join(folder, "bin"));
  const real = execFileSync("which", ["npm"], { encoding: "utf8" }).trim();
  const script = `#!/bin/bash
[ "$1" = pack ] && exec ${real} "$@"
echo "$@" >>${folder}/calls
[ "$1" = publish ] && cp "$2/package.json" ${folder}/published-$(basename $(dirname $2)).json
exit 0
`;
  writeFileSync(join(folder, "bin/npm"), script);
  chmodSync(join(folder, "bin/npm"), 0o755);
}

function release(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/release.mjs", ...args], {
    cwd: repository,
    encoding: "utf8",
    env: { HOME: folder, PATH: `${folder}/bin:${process.env.PATH}`, ...env },
  });
  const calls = existsSync(join(folder, "calls"))
    ? readFileSync(join(folder, "calls"), "utf8").trim().split("\n")
    : [];
  return { status, stderr, calls };
}

const publishedManifest = (directory: string) =>
  JSON.parse(readFileSync(join(folder, `published-${directory}.json`), "utf8"));

describe("a release", () => {
  it("is a dry run by default, after the package was checked", () => {
    const { status, calls, stderr } = release([]);
    expect(status, stderr).toBe(0);
    expect(calls).toEqual([
      expect.stringMatching(/^run .*check-package$/),
      expect.stringMatching(
        /^publish \S+\/sdk\/package --provenance --access public --tag latest --dry-run$/,
      ),
      expect.stringMatching(
        /^publish \S+\/server\/package --provenance --access public --tag latest --dry-run$/,
      ),
    ]);
    expect(publishedManifest("sdk")).toEqual({ name: "ostiary", version: "1.2.3", files: ["dist"] });
    expect(publishedManifest("server")).toEqual({ name: "ostiary-server", version: "1.2.3" });
  });

  it("is published from CI with provenance, and names the repository that the job builds", () => {
    const { status, calls, stderr } = release(["--publish"], GITHUB);
    expect(status, stderr).toBe(0);
    expect(calls.at(-1)).toMatch(/^publish \S+\/package --provenance --access public --tag latest$/);
    for (const directory of ["sdk", "server"]) {
      expect(publishedManifest(directory)).toMatchObject({
        repository: { type: "git", url: "git+https://git.example/someone/ostiary.git", directory },
        homepage: "https://git.example/someone/ostiary#readme",
        bugs: "https://git.example/someone/ostiary/issues",
      });
    }
  });

  it("has the packages, a bill of materials, and the checksums of both", () => {
    expect(release([]).status).toBe(0);
    const artifacts = join(repository, "release");
    const sums = readFileSync(join(artifacts, "SHA256SUMS"), "utf8").trim().split("\n");
    expect(sums.map((line) => line.slice(66))).toEqual([
      "LICENSE",
      "ostiary-1.2.3.tgz",
      "ostiary-server-1.2.3.cdx.json",
      "ostiary-server-1.2.3.tgz",
    ]);
    execFileSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: artifacts });
    const sbom = readFileSync(join(artifacts, "ostiary-server-1.2.3.cdx.json"), "utf8");
    expect(JSON.parse(sbom)).toMatchObject({ bomFormat: "CycloneDX" });
  });

  it("builds the image of the packed server, and publishes it before the packages if it has a repository", () => {
    const tarball = join(repository, "release/ostiary-server-1.2.3.tgz");
    expect(release(["--image"]).calls[1]).toBe(`image --package ${tarball}`);
    rmSync(join(folder, "calls"));
    const { calls } = release(["--publish"], {
      ...GITHUB,
      OSTIARY_IMAGE_REPOSITORY: "registry.example/ostiary",
    });
    const platforms = "linux/amd64,linux/arm64";
    expect(calls[1]).toBe(
      `image --package ${tarball} --name registry.example/ostiary --platform ${platforms} --push`,
    );
    expect(calls[2]).toMatch(/^publish /);
  });

  it("of a prerelease is not the latest version", () => {
    for (const [path, content] of [
      ["sdk/package.json", JSON.stringify({ name: "ostiary", version: "1.3.0-beta.1", files: ["dist"] })],
      ["server/package.json", JSON.stringify({ name: "ostiary-server", version: "1.3.0-beta.1" })],
      ["sdk/jsr.json", JSON.stringify({ version: "1.3.0-beta.1" })],
      ["sdk/src/core/version.ts", 'export const VERSION = "1.3.0-beta.1";\n'],
      ["sdk/CHANGELOG.md", "## 1.3.0-beta.1 (2026-11-23)\n"],
    ] as const) {
      write(path, content);
    }
    commit();
    expect(release([]).calls.at(-1)).toContain("--tag next");
  });

  it.each([
    ["uncommitted changes", () => write("sdk/dist/index.js", "export const a = 1;\n"), /uncommitted changes/],
    [
      "another version elsewhere",
      () => {
        write("sdk/jsr.json", JSON.stringify({ version: "1.2.2" }));
        commit();
      },
      /jsr\.json has version 1\.2\.2/,
    ],
    [
      "no date in the changelog",
      () => {
        write("sdk/CHANGELOG.md", "## 1.2.3 (unreleased)\n");
        commit();
      },
      /no heading "## 1\.2\.3 \(<date>\)"/,
    ],
  ])("with %s is refused before anything runs", (_, change, message) => {
    change();
    const { status, stderr, calls } = release([]);
    expect({ status, calls }).toEqual({ status: 1, calls: [] });
    expect(stderr).toMatch(message);
  });

  it("is not published outside of CI, or from a commit without its tag", () => {
    write("sdk/dist/index.js", "export const a = 1;\n");
    commit();
    const { status, stderr, calls } = release(["--publish"]);
    expect({ status, calls }).toEqual({ status: 1, calls: [] });
    expect(stderr).toMatch(/no identity to sign with.*\n.*address is unknown.*\n.*no tag v1\.2\.3/);
  });
});
