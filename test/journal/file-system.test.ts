import { readlinkSync } from "node:fs";
import { type FileHandle, mkdtemp, open, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fileSystem } from "../../server/src/journal/file-system.ts";
import { RejectedLines } from "../../server/src/journal/rejected-lines.ts";
import type { Segment } from "../../server/src/journal/segment-names.ts";
import { openDataDir } from "../../server/src/start/data-dir.ts";
import { systemError } from "../fixtures/faulty-disk.ts";

let root: string;
/** The files and folders that were synced, in their order. */
let synced: string[];
/** The error of the next syncs. */
let fails: Error | null;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "ostiary-files-")));
  synced = [];
  fails = null;
  const handle = await open(root);
  const prototype: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = prototype;
  vi.spyOn(prototype, "sync").mockImplementation(async function (this: FileHandle) {
    synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
    if (fails !== null) throw fails;
    await sync.call(this);
  });
});

afterEach(async () => {
  vi.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

// The system tells which file a descriptor is of.
describe.skipIf(process.platform !== "linux")("what has to survive a power loss", () => {
  it("is the name of a file that was replaced or renamed, not only its content", async () => {
    const path = join(root, "file");
    await fileSystem.replace(path, Buffer.from("content"));
    expect(synced).toEqual([`${path}.new`, root]);
    await fileSystem.rename(path, join(root, "renamed"));
    expect(synced.slice(2)).toEqual([root]);
  });

  it("is every folder that was created", async () => {
    await fileSystem.makeFolder(join(root, "a/b/c"));
    expect(synced.toSorted()).toEqual([root, join(root, "a"), join(root, "a/b")]);
    await fileSystem.makeFolder(join(root, "a/b/c"));
    expect(synced).toHaveLength(3);
    await openDataDir(join(root, "x/y"));
    expect(synced.slice(3).toSorted()).toEqual([root, join(root, "x")]);
  });

  it("is that rejected lines were removed", async () => {
    const rejected = await RejectedLines.open(root, fileSystem);
    await rejected.add(1 as Segment, [Buffer.from("line")]);
    const [line] = (await rejected.list()).lines;
    synced = [];
    await rejected.remove(new Set([line?.id ?? ""]));
    expect(synced).toEqual([root]);
  });

  it("needs a file system that can sync folders, and no error is made of one that can't", async () => {
    fails = systemError("EINVAL", "invalid argument");
    await fileSystem.syncFolder(root);
    fails = systemError("EIO", "i/o error");
    await expect(fileSystem.syncFolder(root)).rejects.toThrow("i/o error");
    await writeFile(join(root, "from"), "");
    await expect(fileSystem.rename(join(root, "from"), join(root, "to"))).rejects.toThrow("i/o error");
  });
});
