import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readdir, rename, rm, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { listLibraryLinks } from "./library-links.ts";

/** Copies the binaries below `folder`, readable by every user, unless a copy exists. Returns the copy's folder. */
export async function relocateBinaries(native: string, folder: string): Promise<string> {
  const { size, mtimeMs } = await stat(join(native, "bin", "postgres"));
  const version = createHash("sha256").update(`${native} ${size} ${mtimeMs}`).digest("hex").slice(0, 16);
  const copy = join(folder, `native-${version}`);
  if ((await stat(copy).catch(() => null)) !== null) return copy;
  for (const entry of await readdir(folder)) {
    // The entry is a copy of an older version, or an interrupted copy.
    if (entry.startsWith("native-")) await rm(join(folder, entry), { recursive: true, force: true });
  }
  const unfinished = `${copy}.new`;
  await copyReadable(native, unfinished);
  for (const { name, target } of await listLibraryLinks(native))
    await symlink(target, join(unfinished, "lib", name));
  await rename(unfinished, copy);
  return copy;
}

async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyReadable(source, target);
    // Links are created from the package's list. Static libraries are only for building programs.
    if (!entry.isFile() || entry.name.endsWith(".a")) continue;
    await copyFile(source, target);
    await chmod(target, 0o755);
  }
}
