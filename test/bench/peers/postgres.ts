import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../fixtures/free-port.ts";
import { run } from "./tools.ts";

/** A PostgreSQL of a measurement's own, with its default settings. */
export interface PostgresServer extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** @param programs the folder of `initdb` and `postgres`. */
export async function startPostgres(programs: string): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), "ostiary-postgres-"));
  // PostgreSQL refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  const asPostgres = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] : [];
  await chmod(folder, 0o777);
  const data = join(folder, "data");
  const [initdb = "", ...options] = [
    ...asPostgres,
    join(programs, "initdb"),
    "-D",
    data,
    "-U",
    "ostiary",
    "-A",
    "trust",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
  ];
  await run(initdb, options);
  const port = await freePort();
  const server = [
    "-D",
    data,
    "-p",
    String(port),
    "-h",
    "127.0.0.1",
    "-k",
    folder,
    "-c",
    "max_connections=200",
  ];
  const [postgres = "", ...settings] = [...asPostgres, join(programs, "postgres"), ...server];
  const child = spawn(postgres, settings, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  for await (const text of child.stderr.setEncoding("utf8")) {
    said += text;
    if (said.includes("ready to accept connections")) break;
  }
  if (child.pid === undefined || child.exitCode !== null) throw new Error(said);
  return {
    url: `postgres://ostiary@127.0.0.1:${port}/postgres`,
    pid: child.pid,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGINT");
      await once(child, "exit");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
