import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

export interface User {
  readonly uid: number;
  readonly gid: number;
}

const READ = 0o4;
const PASS = 0o1;

/** Whether a user without privileges can read a file and pass through all folders above it. */
export async function canRead(file: string, user: User): Promise<boolean> {
  const target = await realpath(file).catch(() => null);
  if (target === null) return false;
  return permits(await stat(target), user, READ) && (await canPass(dirname(target), user));
}

/**
 * Whether a user without privileges can pass through a folder and those above it. Only owner and mode are checked:
 * other restrictions show when the program runs.
 */
export async function canPass(folder: string, user: User): Promise<boolean> {
  for (let at = await realpath(folder); ; at = dirname(at)) {
    if (!permits(await stat(at), user, PASS)) return false;
    if (at === dirname(at)) return true;
  }
}

function permits(found: { mode: number; uid: number; gid: number }, user: User, bits: number): boolean {
  const shift = found.uid === user.uid ? 6 : found.gid === user.gid ? 3 : 0;
  return ((found.mode >> shift) & bits) === bits;
}
