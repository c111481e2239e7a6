// Releases the SDK, the server and its image: builds the npm packages, a software bill of materials and checksums in the folder `release`, and
// with --image the image. By default it checks everything and publishes nothing; with --publish it publishes, from CI only, because
// npm's provenance statement and the image's signature are made with the identity of the CI job. The image is published to
// OSTIARY_IMAGE_REPOSITORY, if that is set.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SDK = join(ROOT, "sdk");
/** What is attached to the release's page. */
const ARTIFACTS = join(ROOT, "release");
const SBOM_OPTIONS = {
  encoding: "utf8",
  maxBuffer: 64 * 1_024 * 1_024,
  stdio: ["ignore", "pipe", "inherit"],
};
const isDryRun = !process.argv.includes("--publish");
const read = (path) => readFileSync(join(SDK, path), "utf8");
const git = (...args) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
const npm = (...args) => execFileSync("npm", args, { cwd: SDK, stdio: ["ignore", "inherit", "inherit"] });

const { version } = JSON.parse(read("package.json"));
const address = repositoryAddress(process.env);
const imageRepository = isDryRun ? undefined : process.env.OSTIARY_IMAGE_REPOSITORY;
const problems = [...problemsOfSources(), ...(isDryRun ? [] : problemsOfEnvironment(process.env))];
if (problems.length > 0) {
  process.stderr.write(
    `Version ${version} can't be released:\n${problems.map((text) => `- ${text}\n`).join("")}`,
  );
  process.exit(1);
}

npm("run", "--silent", "--prefix", ROOT, "check-package");
const folder = mkdtempSync(join(tmpdir(), "ostiary-release-"));
try {
  // All are made before any is published.
  const packages = [stagedIn(folder, "sdk", packSdk), stagedIn(folder, "server", packServer)];
  writeArtifacts(packages);
  if (process.argv.includes("--image") || imageRepository !== undefined) makeImage();
  for (const staged of packages) publish(staged);
  if (isDryRun) process.stdout.write("Nothing was published. In CI, --publish publishes.\n");
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** What must be corrected in the repository. */
function problemsOfSources() {
  const found = [];
  if (git("status", "--porcelain") !== "")
    found.push("The working tree has uncommitted changes. Commit them.");
  const others = {
    "server/package.json": JSON.parse(readFileSync(join(ROOT, "server/package.json"), "utf8")).version,
    "sdk/jsr.json": JSON.parse(read("jsr.json")).version,
    "sdk/src/core/version.ts": /VERSION = "([^"]+)"/.exec(read("src/core/version.ts"))?.[1],
  };
  for (const [file, other] of Object.entries(others)) {
    if (other !== version) found.push(`${file} has version ${other}. Set it to ${version}.`);
  }
  const lines = read("CHANGELOG.md").split("\n");
  if (!lines.some((line) => line.startsWith(`## ${version} (`) && /\(\d{4}-\d{2}-\d{2}\)$/.test(line))) {
    found.push(
      `sdk/CHANGELOG.md has no heading "## ${version} (<date>)". Give the version its date, such as 2026-01-31.`,
    );
  }
  return found;
}

/** What a job that publishes lacks. */
function problemsOfEnvironment({ ACTIONS_ID_TOKEN_REQUEST_URL, SIGSTORE_ID_TOKEN }) {
  const found = [];
  if (!ACTIONS_ID_TOKEN_REQUEST_URL && !SIGSTORE_ID_TOKEN) {
    found.push(
      "There is no identity to sign with. Run in GitHub Actions with id-token: write, or in GitLab CI with SIGSTORE_ID_TOKEN.",
    );
  }
  if (address === null)
    found.push("The repository's address is unknown. Run in GitHub Actions or GitLab CI.");
  const tag = `v${version}`;
  if (!git("tag", "--points-at", "HEAD").split("\n").includes(tag)) {
    found.push(`The commit has no tag ${tag}. Check out the tag.`);
  }
  return found;
}

/** The address of the repository that this job builds, which npm compares with that of the package; `null` elsewhere. */
function repositoryAddress({ GITHUB_SERVER_URL, GITHUB_REPOSITORY, CI_PROJECT_URL }) {
  if (GITHUB_SERVER_URL && GITHUB_REPOSITORY) return `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
  return CI_PROJECT_URL || null;
}

function packSdk(folder) {
  npm("pack", "--silent", "--pack-destination", folder);
}

function packServer(folder) {
  const args = [join(ROOT, "scripts/pack-server.mjs"), folder];
  execFileSync(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
}

/** Unpacks what would be published, and adds the repository's address. @returns the package's folder. */
function stagedIn(parent, directory, pack) {
  const folder = join(parent, directory);
  mkdirSync(folder);
  pack(folder);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  execFileSync("tar", ["-xzf", join(folder, tarball), "-C", folder]);
  const staged = join(folder, "package");
  const manifest = JSON.parse(readFileSync(join(staged, "package.json"), "utf8"));
  if (address !== null) {
    manifest.repository = { type: "git", url: `git+${address}.git`, directory };
    manifest.homepage = `${address}#readme`;
    manifest.bugs = `${address}/issues`;
  }
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return staged;
}

/** Writes what a release has beside npm's packages: these packages as they are published, the bill of materials, and all checksums. */
function writeArtifacts(packages) {
  rmSync(ARTIFACTS, { recursive: true, force: true });
  mkdirSync(ARTIFACTS);
  for (const staged of packages) npm("pack", staged, "--silent", "--pack-destination", ARTIFACTS);
  const sbom = execFileSync(process.execPath, [join(ROOT, "scripts/sbom.mjs")], SBOM_OPTIONS);
  writeFileSync(join(ARTIFACTS, `ostiary-server-${version}.cdx.json`), sbom);
  copyFileSync(join(ROOT, "LICENSE"), join(ARTIFACTS, "LICENSE"));
  const sums = readdirSync(ARTIFACTS).map((name) => {
    const digest = createHash("sha256")
      .update(readFileSync(join(ARTIFACTS, name)))
      .digest("hex");
    return `${digest}  ${name}\n`;
  });
  writeFileSync(join(ARTIFACTS, "SHA256SUMS"), sums.join(""));
}

/** Builds the image of the packed server; publishes and signs it if it has a repository. */
function makeImage() {
  const tarball = join(ARTIFACTS, `ostiary-server-${version}.tgz`);
  const publishing =
    imageRepository === undefined
      ? []
      : ["--name", imageRepository, "--platform", "linux/amd64,linux/arm64", "--push"];
  const args = [join(ROOT, "scripts/image.mjs"), "--package", tarball, ...publishing];
  execFileSync(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
}

function publish(staged) {
  // npm refuses a prerelease as the latest version.
  const tag = version.includes("-") ? "next" : "latest";
  const mode = isDryRun ? ["--dry-run"] : [];
  npm("publish", staged, "--provenance", "--access", "public", "--tag", tag, ...mode);
}
