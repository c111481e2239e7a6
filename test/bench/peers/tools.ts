import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { ROOT } from "../../fixtures/service.ts";

/** Where programs are installed that only this measurement needs. */
export const TOOLS = join(ROOT, "node_modules/.cache/ostiary-bench");

/** Runs a program to its end. @returns what it printed. @throws when it fails, with what it said. */
export async function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} exited with ${code}\n${said}`);
  return printed;
}

/** The path of a program, or `null` when it is not installed. */
export async function find(program: string): Promise<string | null> {
  for (const folder of [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/go/bin"]) {
    if (await exists(join(folder, program))) return join(folder, program);
  }
  return null;
}

/** The newest PostgreSQL of Debian's packages, or `null`. */
export async function findPostgres(): Promise<string | null> {
  const versions = await readdir("/usr/lib/postgresql").catch(() => []);
  const [newest] = versions.sort((a, b) => Number(b) - Number(a));
  return newest === undefined ? null : `/usr/lib/postgresql/${newest}/bin`;
}

/** Builds vegeta, which makes requests at a steady rate, from its Go module. */
export async function installVegeta(): Promise<void> {
  if (await exists(join(TOOLS, "vegeta"))) return;
  const go = await find("go");
  if (go === null) throw new Error("needs Go, to build vegeta");
  await mkdir(TOOLS, { recursive: true });
  await run(go, ["install", "github.com/tsenart/vegeta/v12@v12.13.0"], { GOBIN: TOOLS });
}

export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
