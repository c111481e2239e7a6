import { chmod, lstat, mkdir, readFile, rm, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import process from "node:process";
import { z } from "zod";

/** As the package writes it: paths below the package's folder. */
const linksFile = z.array(z.object({ source: z.string(), target: z.string() }));

/** The links that the binaries need in `lib` (`libpq.so.5` to `libpq.so.5.18`), as file names. */
export async function listLibraryLinks(native: string): Promise<readonly { name: string; target: string }[]> {
  const listed = linksFile.parse(JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")));
  return listed.map(({ source, target }) => ({ name: basename(target), target: basename(source) }));
}

/**
 * npm packages can't hold symlinks: the package's install script makes them, unless scripts are off. Then they are
 * made in `folder` instead (the package may be read-only, or someone else's) and that folder is returned, for
 * the dynamic loader's search path. Null when nothing is missing.
 */
export async function provideLibraryLinks(native: string, folder: string): Promise<string | null> {
  const links = await listLibraryLinks(native);
  const present = await Promise.all(
    links.map(({ name }) => lstat(join(native, "lib", name)).catch(() => null)),
  );
  if (present.every((found) => found !== null)) return null;
  // Anew each time: the package may have moved, or be another version.
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  // Whatever the umask: the server may run as another user.
  await chmod(folder, 0o755);
  for (const { name, target } of links) await symlink(join(native, "lib", target), join(folder, name));
  return folder;
}

/** The variable that makes the dynamic loader look in the links' folder, and from there in the package's. */
export function libraryPathVariable(native: string, links: string | null): Record<string, string> {
  if (links === null) return {};
  // A library that was found by its link looks beside the link for those that it needs, not beside itself.
  const path = `${links}:${join(native, "lib")}`;
  return process.platform === "darwin" ? { DYLD_LIBRARY_PATH: path } : { LD_LIBRARY_PATH: path };
}
