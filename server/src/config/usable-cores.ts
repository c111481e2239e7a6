import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Reads a file of the system; `null` if there is none. */
type ReadFile = (path: string) => string | null;

/** The folder of control groups of version 2, and that of the groups of version 1 that have quotas of CPU time. */
const GROUPS = "/sys/fs/cgroup";
const CPU_GROUPS = "/sys/fs/cgroup/cpu";

/**
 * How many processes can work at once: the cores that this process may use, and no more than the CPU time of its container suffices for. Node 20 does
 * not know the quotas of control groups, such as that of `docker run --cpus`.
 */
export function usableCores(cores = availableParallelism(), read: ReadFile = readSystemFile): number {
  return Math.max(1, Math.floor(Math.min(cores, ...quotas(read))));
}

/** The quotas of this process's control groups and those above them, in cores. */
function quotas(read: ReadFile): number[] {
  const lines = (read("/proc/self/cgroup") ?? "").split("\n");
  return lines.flatMap((line) => {
    const [, controllers = "", path = "/"] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === "")
      return groupsFrom(path).flatMap((group) => quotaOf(read(`${GROUPS}${group}/cpu.max`)));
    if (!controllers.split(",").includes("cpu")) return [];
    return groupsFrom(path).flatMap((group) => {
      const [quota, period] = ["quota", "period"].map((name) =>
        read(`${CPU_GROUPS}${group}/cpu.cfs_${name}_us`),
      );
      return quotaOf(`${quota} ${period}`);
    });
  });
}

/** A group and those above it, the last of which is `""`: in a container, whose groups begin at its own. */
function groupsFrom(path: string): string[] {
  const names = path.split("/").filter((name) => name !== "");
  return [...names.map((_, index) => `/${names.slice(0, names.length - index).join("/")}`), ""];
}

/** Reads microseconds of CPU time, and the period in which they may be used. Without a quota the former is no number above zero. */
function quotaOf(text: string | null): number[] {
  const [quota, period] = (text ?? "").trim().split(/\s+/).map(Number);
  return quota !== undefined && period !== undefined && quota > 0 && period > 0 ? [quota / period] : [];
}

function readSystemFile(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
