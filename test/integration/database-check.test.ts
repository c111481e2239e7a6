import { describe, expect, it } from "vitest";
import { requireUsableDatabase } from "../../server/src/start/database-check.ts";
import { startIgnoringPooler } from "../fixtures/ignoring-pooler.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { openStatementDatabase } from "../fixtures/statement-database.ts";

const database = sharedByFile(openStatementDatabase);

describe("the database of DATABASE_URL", () => {
  it.each([
    ["DateStyle", "SQL, DMY"],
    ["bytea_output", "escape"],
    ["standard_conforming_strings", "off"],
    ["default_transaction_isolation", "serializable"],
  ])("is refused at the start if a pooler ignores %s, and the database has %s", async (name, value) => {
    await using pooler = await startIgnoringPooler(database.address, name);
    const check = () => requireUsableDatabase(pooler.address, "a pooler", { isOnlyRead: false });
    await check();
    const [row] = await database.admin<{ name: string }[]>`select current_database() as name`;
    await database.admin.unsafe(`alter database "${row?.name}" set ${name} = '${value}'`);
    try {
      await expect(check()).rejects.toThrow(`ALTER DATABASE … SET ${name} = `);
    } finally {
      await database.admin.unsafe(`alter database "${row?.name}" reset ${name}`);
    }
  });

  it("is refused at the start if its search path has no schema", async () => {
    const [row] = await database.admin<{ name: string }[]>`select current_database() as name`;
    await database.admin.unsafe(`alter database "${row?.name}" set search_path = nowhere`);
    try {
      const check = requireUsableDatabase(database.address, "the database", { isOnlyRead: true });
      await expect(check).rejects.toThrow("search_path");
    } finally {
      await database.admin.unsafe(`alter database "${row?.name}" reset search_path`);
    }
  });

  it("is reported at the start if the server confirms what a crash can undo", async () => {
    const [row] = await database.admin<{ name: string }[]>`select current_database() as name`;
    const warned = async (value: "off" | "on") => {
      await database.admin.unsafe(`alter database "${row?.name}" set synchronous_commit = ${value}`);
      const warnings = await requireUsableDatabase(database.address, "the database", { isOnlyRead: false });
      return warnings.filter((warning) =>
        /^synchronous_commit of PostgreSQL is off: .*Turn it on/.test(warning),
      );
    };
    expect(await warned("off")).toHaveLength(1);
    expect(await warned("on")).toHaveLength(0);
  });
});
