import { chmod, chown, lstat, mkdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import * as z from "zod";

/** The package's list of links: paths below the package's folder. */
const linksFile = z.array(z.object({ source: z.string(), target: z.string() }));

/** The links that the binaries need in `lib` (`libpq.so.5` to `libpq.so.5.18`), as file names. */
export async function listLibraryLinks(native: string): Promise<readonly { name: string; target: string }[]> {
  const listed = linksFile.parse(JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")));
  return listed.map(({ source, target }) => ({ name: basename(target), target: basename(source) }));
}

/**
 * npm packages cannot contain symlinks. The package's install script creates them, unless scripts are off. In that case this
 * function creates them in `folder` (the package may be read-only or owned by another user) and returns it for the
 * dynamic loader's search path. Returns `null` if no link is missing.
 */
export async function provideLibraryLinks(native: string, folder: string): Promise<string | null> {
  const links = await listLibraryLinks(native);
  const present = await Promise.all(
    links.map(({ name }) => lstat(join(native, "lib", name)).catch(() => null)),
  );
  if (present.every((found) => found !== null)) return null;
  // The links are recreated each time, because the package may have moved or changed its version.
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  // The mode ignores the umask, because the server may run as another user.
  await chmod(folder, 0o755);
  for (const { name, target } of links) await symlink(join(native, "lib", target), join(folder, name));
  if (process.getuid?.() === 0) {
    // The next start may be as the user whose data folder it is.
    const { uid, gid } = await stat(dirname(folder));
    await chown(folder, uid, gid);
  }
  return folder;
}

/** The variable that adds the folder of links, and then the package's, to the dynamic loader's search path. */
export function libraryPathVariable(native: string, links: string | null): Record<string, string> {
  if (links === null) return {};
  // The loader searches the dependencies of a linked library beside the link, not beside its target.
  const path = `${links}:${join(native, "lib")}`;
  return process.platform === "darwin" ? { DYLD_LIBRARY_PATH: path } : { LD_LIBRARY_PATH: path };
}
