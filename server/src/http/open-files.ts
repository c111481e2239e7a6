import { readFileSync } from "node:fs";

/** The number of files and sockets that a process needs beside connections of clients, such as those to models and stores. */
export const OTHER_FILES = 1_000;

/** How many files and sockets this process may have open; `null` where the system does not tell it as Linux does (proc(5), limits). */
export function maxOpenFiles(): number | null {
  try {
    const max = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return max === undefined ? null : Number(max);
  } catch {
    return null;
  }
}
