import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logLines, ROOT } from "../fixtures/service.ts";

const run = promisify(execFile);

/** A checkout, with what was built from it. */
const CHECKOUT = [
  "package.json",
  "package-lock.json",
  "tsconfig.base.json",
  "scripts",
  "sdk",
  "server",
  "dashboard-ui",
  "packages",
  "docs",
  "docs-site",
];

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>;
}

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ostiary-production-"));
  for (const path of CHECKOUT) {
    await cp(join(ROOT, path), join(folder, path), {
      recursive: true,
      filter: (source) => basename(source) !== "node_modules",
    });
  }
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Leaves the packages that npm installs with `--omit=dev`, by its lock file: taken from here, so that no network is needed. */
async function copyProductionPackages(): Promise<void> {
  const lock = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")) as LockFile;
  const packages = Object.entries(lock.packages).filter(([path]) => path.includes("node_modules/"));
  const present = new Set<string>();
  for (const path of ["node_modules", ...(await scopes())]) {
    for (const name of await readdir(join(ROOT, path))) present.add(`${path}/${name}`);
  }
  const byParent = new Map<string, string[]>();
  for (const [path, { dev }] of packages) {
    if (dev === true || !present.has(path)) continue;
    byParent.set(dirname(path), [...(byParent.get(dirname(path)) ?? []), join(ROOT, path)]);
  }
  for (const [parent, sources] of byParent) {
    await mkdir(join(folder, parent), { recursive: true });
    // Links to the workspaces are relative, and so lead to the copies.
    await run("cp", ["-a", ...sources, join(folder, parent)]);
  }
}

async function scopes(): Promise<string[]> {
  const names = await readdir(join(ROOT, "node_modules"));
  return names.filter((name) => name.startsWith("@")).map((name) => `node_modules/${name}`);
}

/** What `npm ci` runs at its end, and `npm start` at its beginning. */
async function build(...options: string[]): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, ["scripts/build.mjs", "--if-stale", ...options], {
    cwd: folder,
    env: environment(),
    stdio: ["ignore", "ignore", "pipe"],
  });
  return { stderr: await textOf(child), code: child.exitCode };
}

function environment(): Record<string, string> {
  return { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", NODE_ENV: "production" };
}

async function textOf(child: ChildProcess): Promise<string> {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  await once(child, "close");
  return text;
}

/** Runs the service until `use` is done. */
async function whileItRuns(use: (baseUrl: string) => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, ["server/dist/main.js"], {
    cwd: folder,
    env: { ...environment(), PORT: "0", OSTIARY_DATA_DIR: join(folder, "data"), OSTIARY_LOG: "info" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stderr = textOf(child);
  let log = "";
  try {
    const baseUrl = await new Promise<string>((resolve, reject) => {
      child.stderr.on("data", (part: string) => {
        log += part;
        const address = logLines(log).find(({ msg }) => msg === "ready")?.listensOn;
        if (typeof address === "string") resolve(address);
      });
      stderr.then((text) => reject(new Error(`the service ended: ${text}`)), reject);
    });
    await use(baseUrl);
  } finally {
    child.kill("SIGTERM");
    await stderr;
  }
}

describe("a checkout with its development dependencies", () => {
  beforeAll(async () => {
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  });

  afterAll(() => rm(join(folder, "node_modules")));

  it("does not build again when only file times have changed", async () => {
    const later = new Date(Date.now() + 60 * 60_000);
    for (const path of ["sdk/src", "server/src", "dashboard-ui/src"]) {
      for (const entry of await readdir(join(folder, path), { recursive: true }))
        await utimes(join(folder, path, entry), later, later);
    }
    expect(await build()).toEqual({ code: 0, stderr: "" });
  });

  it("builds again only what a changed source affects", async () => {
    await appendFile(join(folder, "server/src/main.ts"), "\n");
    const { code, stderr } = await build();
    expect(code).toBe(0);
    expect(stderr.match(/^building .*$/gm)).toEqual(["building server"]);
  });
});

describe("the first command of the README", () => {
  it("installs at most 300 MB", async () => {
    // What runs from there stores things in folders whose names begin with a dot.
    const names = (await readdir(join(ROOT, "node_modules"))).filter((name) => !/^\.(cache|vite)/.test(name));
    const paths = names.map((name) => join(ROOT, "node_modules", name));
    const { stdout } = await run("du", ["-sc", "--block-size=1", "--apparent-size", ...paths], {
      maxBuffer: 10_000_000,
    });
    const total = Number(/^(\d+)\ttotal$/m.exec(stdout)?.[1]);
    expect(total).toBeGreaterThan(50_000_000);
    expect(total).toBeLessThanOrEqual(300_000_000);
  });
});

describe("a checkout without development dependencies", () => {
  beforeAll(copyProductionPackages);

  it("has no compiler, test or build tool", async () => {
    const names = await readdir(join(folder, "node_modules"));
    const tools = ["esbuild", "typescript", "vite", "vitest", "rolldown", "tsx", "@biomejs", "deno", "bun"];
    expect(names).toContain("oslo");
    expect(names.filter((name) => tools.includes(name))).toEqual([]);
  });

  it("runs what was built with them", async () => {
    expect(await build()).toEqual({ code: 0, stderr: "" });
    await whileItRuns(async (baseUrl) => {
      expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200);
      expect(await (await fetch(baseUrl)).text()).toContain("<script");
      // A record of the build is no page, and no file of the dashboard.
      expect((await fetch(`${baseUrl}/.sources`)).status).toBe(404);
    });
    const { stdout } = await run(process.execPath, ["server/dist/operator.js", "--help"], { cwd: folder });
    expect(stdout).toContain("accounts");
  });

  it("says what to do when something has to be built, which an installation by itself does not fail for", async () => {
    await appendFile(join(folder, "server/src/main.ts"), "\n");
    const { code, stderr } = await build();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^server\/dist was built from other sources .* esbuild, which is not installed\.$/m,
    );
    expect(stderr).toContain('Run "npm ci && npm run build"');
    expect(await build("--if-possible")).toEqual({ code: 0, stderr });
  });
});
