import { existsSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { unusableDataDir } from "../../server/src/start/data-dir.ts";
import { nodeId } from "../../server/src/start/node-id.ts";
import { systemError } from "../fixtures/faulty-disk.ts";
import { runToExit } from "../fixtures/service.ts";
import { canMountDisks, mountSmallDisk } from "../fixtures/small-disk.ts";

const isRoot = process.getuid?.() === 0;
let parent: string;
let dataDir: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "ostiary-data-"));
  dataDir = join(parent, "data");
});

afterEach(async () => {
  await rm(parent, { recursive: true, force: true });
});

/** A start that must fail: with one line, that names the setting and the path. @returns the line. */
async function refusal(path = dataDir): Promise<string> {
  const exit = await runToExit({ dataDir: path });
  expect(exit.code).toBe(1);
  expect(exit.stdout).toBe("");
  const [line = "", ...others] = exit.reasons;
  expect(others).toEqual([]);
  expect(line).toContain(path);
  expect(line).toContain("OSTIARY_DATA_DIR");
  return line;
}

/** Makes a folder read-only for the service, whichever user runs it. */
async function forbidWriting(folder: string): Promise<Disposable> {
  if (isRoot) return mountSmallDisk(folder, "size=64k,ro");
  await chmod(folder, 0o500);
  return { [Symbol.dispose]: () => {} };
}

describe("an unusable data folder is reported with the setting and the reason", () => {
  it("when it is a file", async () => {
    await writeFile(dataDir, "");
    expect(await refusal()).toContain("it is not a folder");
  });

  it("when a part of its path is a file", async () => {
    await writeFile(dataDir, "");
    expect(await refusal(join(dataDir, "below"))).toContain("not a folder");
  });

  it.each([
    ["EIO", /disk or file system reports an input\/output error\. .*check the disk\.$/],
    ["EMFILE", /limit of open files\. Raise .*ulimit -n/],
    ["ENFILE", /limit of open files\. Raise .*fs\.file-max/],
    ["EDQUOT", /quota of its user is used up\. Free space/],
    ["EROFS", /read-only\. If it was writable before, .*check the disk\. Otherwise .*OSTIARY_DATA_DIR/],
    ["ESTALE", /network file system .* Set OSTIARY_DATA_DIR/],
  ])("and what mends it, when the system says %s", (code, message) => {
    expect(unusableDataDir(dataDir, systemError(code, "a text of the system")).message).toMatch(message);
  });

  it.runIf(!isRoot || canMountDisks)("when it can't be written to", async () => {
    await mkdir(dataDir);
    using _forbidden = await forbidWriting(dataDir);
    expect(await refusal()).toMatch(/read-only|permission denied/);
  });

  it.runIf(canMountDisks)("when it is empty and its disk is full", async () => {
    await mkdir(dataDir);
    using _disk = mountSmallDisk(dataDir, "size=64k");
    await writeFile(join(dataDir, "filler"), Buffer.alloc(64 * 1024));
    await expect(nodeId(dataDir)).rejects.toThrow(/OSTIARY_DATA_DIR.*file system is full\. Free space/);
    expect(await refusal()).toMatch(/no space left.*Free space/);
    expect(await refusal()).not.toContain("writable");
  });

  it.runIf(canMountDisks)("when its disk has no room for a new database", async () => {
    await mkdir(dataDir);
    using _disk = mountSmallDisk(dataDir, "size=2m");
    expect(await refusal()).toMatch(/No space left.*Free space/);
  });

  it.runIf(!isRoot || canMountDisks)("when it can't be created", async () => {
    using _forbidden = await forbidWriting(parent);
    expect(await refusal()).toMatch(/cannot be created|read-only|permission denied/);
  });

  it.runIf(existsSync("/proc/self"))("when it is below a folder that takes no folders", async () => {
    // Deno asks for more permissions there than the service has.
    expect(await refusal("/proc/ostiary/data")).toMatch(/cannot be created|Requires all access/);
  });

  it("when its journal is a file", async () => {
    await mkdir(dataDir);
    await writeFile(join(dataDir, "journal"), "");
    expect(await refusal()).toContain("The journal folder");
  });

  it.runIf(!isRoot || canMountDisks)("when its journal can't be written to", async () => {
    const journal = join(dataDir, "journal");
    await mkdir(journal, { recursive: true });
    using _forbidden = await forbidWriting(journal);
    expect(await refusal()).toMatch(/The journal folder .*(?:read-only|permission denied)/);
  });
});

/** Root may read everything, so that it becomes another user. */
const NOBODY = 65_534;

describe("the id of a node", () => {
  it("is kept when it can't be read: with a new one the node would be another, and its credit would stay reserved", async () => {
    await mkdir(dataDir);
    const id = await nodeId(dataDir);
    const file = join(dataDir, "node-id");
    await chmod(file, 0o200);
    if (isRoot) {
      await chmod(parent, 0o755);
      for (const path of [dataDir, file]) await chown(path, NOBODY, NOBODY);
      process.seteuid?.(NOBODY);
    }
    try {
      await expect(nodeId(dataDir)).rejects.toThrow(/permission denied.*OSTIARY_DATA_DIR/);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
    await chmod(file, 0o600);
    expect(await readFile(file, "utf8")).toBe(`${id}\n`);
  });
});
