// Packs the service and builds its image with deploy/image/Containerfile.
//
//   node scripts/image.mjs [--name ostiary] [--platform linux/amd64,linux/arm64] [--builder docker|podman|buildah]
//                          [--base <image>] [--without-database] [--package <tarball>] [--push]
//
// --push, with docker, pushes the image with its provenance, and signs it with cosign.
// --base names the image of the first stage: Debian with Node and npm. "debian" makes it from Debian's packages, with buildah, where no
// registry of images can be reached, for one platform at a time. --package takes a tarball of scripts/pack-server.mjs instead of making one.
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BUILDERS = ["docker", "podman", "buildah"];
const DEBIAN_BASE = "localhost/ostiary-base";

const { values } = parseArgs({
  options: {
    name: { type: "string", default: "ostiary" },
    platform: { type: "string" },
    builder: { type: "string" },
    base: { type: "string" },
    package: { type: "string" },
    push: { type: "boolean", default: false },
    "without-database": { type: "boolean", default: false },
  },
});
const { version } = JSON.parse(readFileSync(join(ROOT, "server/package.json"), "utf8"));
const builder = values.builder ?? BUILDERS.find(isInstalled);
if (builder === undefined || (values.base === "debian" && !isInstalled("buildah"))) {
  process.stderr.write(`No program builds images here. Install one of ${BUILDERS.join(", ")}.\n`);
  process.exit(1);
}

if (values.push && (builder !== "docker" || !isInstalled("cosign"))) {
  process.stderr.write(
    "--push needs docker and cosign: an image that is not signed must not be published.\n",
  );
  process.exit(1);
}

if (values.base === "debian" && values.platform?.includes(",")) {
  process.stderr.write("--base debian builds for one platform at a time.\n");
  process.exit(1);
}

const context = mkdtempSync(join(tmpdir(), "ostiary-image-"));
try {
  const tarball = values.package ?? packServer();
  copyFileSync(tarball, join(context, "ostiary-server.tgz"));
  copyFileSync(join(ROOT, "deploy/image/assemble-root.sh"), join(context, "assemble-root.sh"));
  const program = values.base === "debian" ? "buildah" : builder;
  if (values.base === "debian") {
    const architecture = values.platform === undefined ? [] : [values.platform.replace("linux/", "")];
    run("sh", join(ROOT, "deploy/image/debian-base.sh"), DEBIAN_BASE, ...architecture);
  }
  run(program, ...buildArguments(program));
  if (values.push) sign();
} finally {
  rmSync(context, { recursive: true, force: true });
}

function buildArguments(program) {
  const base = values.base === "debian" ? DEBIAN_BASE : values.base;
  const built = {
    VERSION: version,
    REVISION: git("rev-parse", "HEAD"),
    // Of the commit, so that the same sources make the same labels.
    CREATED: new Date(Number(git("log", "-1", "--format=%ct")) * 1_000).toISOString(),
    SOURCE: sourceAddress(process.env),
    ...(base === undefined ? {} : { BUILD_IMAGE: base }),
    ...(values["without-database"] ? { BUNDLED_DATABASE: "0" } : {}),
  };
  const isList = values.platform?.includes(",") ?? false;
  return [
    ...(program === "docker" ? ["buildx", "build"] : ["build"]),
    // The format of OCI has no health checks.
    ...(program === "docker" ? [] : ["--format", "docker"]),
    ...Object.entries(built).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
    ...(values.platform === undefined ? [] : ["--platform", values.platform]),
    ...(values.push
      ? ["--push", "--provenance=mode=max", "--metadata-file", join(context, "metadata.json")]
      : []),
    ...["--file", join(ROOT, "deploy/image/Containerfile")],
    // Images of several platforms are a manifest list, which docker makes of a tag.
    ...[isList && program !== "docker" ? "--manifest" : "--tag", `${values.name}:${version}`],
    context,
  ];
}

/** Signs what was pushed, by its digest, with the identity of the CI job. */
function sign() {
  const metadata = JSON.parse(readFileSync(join(context, "metadata.json"), "utf8"));
  run("cosign", "sign", "--yes", `${values.name}@${metadata["containerimage.digest"]}`);
}

function packServer() {
  return execFileSync(process.execPath, [join(ROOT, "scripts/pack-server.mjs"), context], {
    encoding: "utf8",
  }).trim();
}

function sourceAddress({ GITHUB_SERVER_URL, GITHUB_REPOSITORY, CI_PROJECT_URL }) {
  if (GITHUB_SERVER_URL && GITHUB_REPOSITORY) return `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
  return CI_PROJECT_URL ?? "";
}

function isInstalled(program) {
  return (
    spawnSync(program, [program === "cosign" ? "version" : "--version"], { stdio: "ignore" }).status === 0
  );
}

function git(...args) {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}

function run(program, ...args) {
  execFileSync(program, args, { stdio: ["ignore", "inherit", "inherit"] });
}
