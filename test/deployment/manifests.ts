import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "../fixtures/service.ts";

const BUILD = join(ROOT, "test/deployment/manifests/build.sh");
/** With the folder into which Go is unpacked where it is not on the path. */
const PATH = `${process.env.PATH ?? ""}:/usr/local/go/bin`;

/** What is missing to build the checks of manifests; `null`: nothing. */
export const MISSING_GO = missingGo();
if (MISSING_GO !== null) process.stderr.write(`Charts and Compose files are not tested: ${MISSING_GO}.\n`);

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Helm, Kubernetes' types and Compose, in one program: see its comment. */
export interface Manifests extends Disposable {
  run(
    args: readonly string[],
    options?: { readonly input?: string; readonly env?: NodeJS.ProcessEnv },
  ): Outcome;
}

/** Builds the program. Go keeps what it has compiled, so that this takes minutes once and seconds after that. */
export function buildManifests(): Manifests {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-manifests-"));
  const program = join(folder, "manifests");
  execFileSync(BUILD, [program], { stdio: ["ignore", "ignore", "inherit"] });
  return {
    run: (args, { input = "", env = process.env } = {}) =>
      spawnSync(program, args, { encoding: "utf8", input, env, cwd: ROOT }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function missingGo(): string | null {
  const { stdout } = spawnSync("go", ["env", "GOVERSION"], {
    env: { ...process.env, PATH, GOTOOLCHAIN: "local" },
    encoding: "utf8",
  });
  const minor = Number(/^go1\.(\d+)/.exec(stdout ?? "")?.[1] ?? 0);
  return minor >= 26 ? null : "they need Go 1.26 or newer";
}
