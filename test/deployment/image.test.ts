import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../fixtures/free-port.ts";
import { OPERATOR_ENV } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import { ROOT } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

/** Without a daemon and without a registry of images: what the machine must have. */
const MISSING = missingForImages();
if (MISSING !== null) process.stderr.write(`The image is not tested: ${MISSING}.\n`);

/** Another platform's programs run here where the kernel knows an emulator for them: see CONTRIBUTING.md. */
const PLATFORM = process.env.OSTIARY_TEST_PLATFORM;
const PLATFORM_OPTIONS = PLATFORM === undefined ? [] : ["--platform", PLATFORM];
const BUILD_TIMEOUT_MS = 600_000;
const SERVER = "/opt/ostiary/node_modules/ostiary-server/server/dist/ostiary-server.js";

function missingForImages(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "it needs root on Linux";
  const isMissing = (program: string) => spawnSync(program, ["--version"]).status !== 0;
  const missing = ["buildah", "dpkg-deb", "unshare", "setpriv"].filter(isMissing);
  return missing.length === 0 ? null : `it needs ${missing.join(", ")}`;
}

interface Image {
  readonly root: string;
  readonly config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Healthcheck: { readonly Test: readonly string[] };
    readonly Labels: Readonly<Record<string, string>>;
    readonly StopSignal: string;
  };
}

let folder: string;
let environment: NodeJS.ProcessEnv;
let image: Image;

/** Buildah with folders of its own, so that nothing is left behind. */
function buildah(...args: string[]): string {
  return execFileSync("buildah", args, { env: environment, encoding: "utf8" }).trim();
}

async function buildImage(): Promise<Image> {
  const options = ["--base", "debian", "--name", "localhost/ostiary", ...PLATFORM_OPTIONS];
  execFileSync(process.execPath, ["scripts/image.mjs", ...options], {
    cwd: ROOT,
    env: environment,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const { version } = JSON.parse(await readFile(join(ROOT, "server/package.json"), "utf8"));
  const container = buildah("from", ...PLATFORM_OPTIONS, `localhost/ostiary:${version}`);
  const { Docker } = JSON.parse(buildah("inspect", container));
  return { root: buildah("mount", container), config: Docker.config };
}

/** The command line that runs a program of the image, as a container does. */
function commandFor(...args: string[]): [string, string[]] {
  const script = join(ROOT, "test/deployment/run-image.sh");
  return ["unshare", ["--mount", "sh", script, image.root, image.config.User, ...args]];
}

/** The environment that the image sets, and more. */
function imageEnvironment(more: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = image.config.Env.map((line) => line.split(/=(.*)/s, 2));
  // The programs that set the mounts up are this machine's.
  return { ...Object.fromEntries(pairs), PATH: process.env.PATH ?? "", ...more };
}

describe.skipIf(MISSING !== null)("the image", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "ostiary-image-test-"));
    const storage = join(folder, "storage.conf");
    const places = `runroot = "${folder}/run"\ngraphroot = "${folder}/graph"`;
    await writeFile(storage, `[storage]\ndriver = "vfs"\n${places}\n`);
    environment = {
      ...process.env,
      CONTAINERS_STORAGE_CONF: storage,
      STORAGE_DRIVER: "vfs",
      BUILDAH_ISOLATION: "chroot",
    };
    image = await buildImage();
  }, BUILD_TIMEOUT_MS);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("says what it is, and runs without privileges", async () => {
    const { config } = image;
    expect(config).toMatchObject({
      User: "10001:10001",
      Entrypoint: ["/usr/local/bin/node", "--max-semi-space-size=32", "--heap-growing-percent=400", SERVER],
      Cmd: ["start"],
      StopSignal: "SIGTERM",
    });
    expect(config.Healthcheck.Test).toEqual(["CMD", "/usr/local/bin/node", SERVER, "health"]);
    const revision = execFileSync("git", ["rev-parse", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
    expect(config.Labels).toMatchObject({
      "org.opencontainers.image.title": "Ostiary",
      "org.opencontainers.image.revision": revision,
      "org.opencontainers.image.licenses": "MIT",
    });
    for (const path of ["usr/local/bin/npm", "usr/bin/bash", "usr/bin/apt-get", "usr/bin/env"])
      await expect(stat(join(image.root, path)), path).rejects.toThrow("ENOENT");
  });

  it("answers requests on a read-only root as its user, is healthy, and stops on SIGTERM", async () => {
    const port = String(await freePort());
    const env = imageEnvironment({ ...OPERATOR_ENV, PORT: port });
    const [command, args] = commandFor(...image.config.Entrypoint, ...image.config.Cmd);
    const service = spawn(command, args, { env, stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    service.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    try {
      const baseUrl = `http://127.0.0.1:${port}`;
      const readiness = () =>
        service.exitCode === null
          ? fetch(`${baseUrl}/readyz`).then(
              ({ status }) => status,
              () => 0,
            )
          : Promise.resolve(`it has ended: ${stderr}`);
      await expect.poll(readiness, { timeout: 60_000 }).toBe(200);
      const { key } = await signUpWithKey(baseUrl);
      expect(await statusOf(baseUrl, key)).toBe(200);

      const status = await readFile(`/proc/${service.pid}/status`, "utf8");
      expect(status).toMatch(/^Uid:\t10001\t10001\t10001\t10001$/m);
      expect(status).toMatch(/^CapEff:\t0+$/m);
      expect(await mountOf(service.pid ?? 0, "/")).toContain("ro");
      const [check, ...options] = commandFor(...image.config.Healthcheck.Test.slice(1));
      expect(spawnSync(check, ...options, { env })).toMatchObject({ status: 0 });

      service.kill("SIGTERM");
      const [code] = await once(service, "exit");
      expect(code, stderr).toBe(0);
    } finally {
      service.kill("SIGKILL");
    }
  });
});

/** The options with which a process sees a place mounted. */
async function mountOf(pid: number, place: string): Promise<readonly string[]> {
  const lines = (await readFile(`/proc/${pid}/mounts`, "utf8")).split("\n").map((line) => line.split(" "));
  return lines.find(([, at]) => at === place)?.[3]?.split(",") ?? [];
}
