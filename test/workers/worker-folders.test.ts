import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { leftoverFolders, removeDrained } from "../../server/src/start/workers/worker-folders.ts";

let dataDir: string;
let folder: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "ostiary-workers-"));
  folder = join(dataDir, "worker-2");
  await mkdir(folder);
});

afterEach(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

describe("the folder of a worker that is no more", () => {
  it("is removed when its journal is empty or missing", async () => {
    expect(await leftoverFolders(dataDir, 1)).toEqual([folder]);
    expect(await removeDrained(folder, dataDir)).toBe(true);
    expect(await leftoverFolders(dataDir, 1)).toEqual([]);
  });

  it("stays when its journal can't be read, which may have entries", async () => {
    // A file fails to be listed, as a folder of a faulty disk or without permission.
    await writeFile(join(folder, "journal"), "");
    expect(await removeDrained(folder, dataDir)).toBe(false);
    expect(existsSync(folder)).toBe(true);
  });

  it("is not taken for missing when the data folder can't be read", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    await expect(leftoverFolders(file, 1)).rejects.toThrow(/not a folder.*OSTIARY_DATA_DIR/);
    expect(await leftoverFolders(join(dataDir, "none"), 1)).toEqual([]);
  });
});
