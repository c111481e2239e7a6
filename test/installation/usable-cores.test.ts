import { describe, expect, it } from "vitest";
import { usableCores } from "../../server/src/config/usable-cores.ts";

const CORES = 64;
const V1 = "4:memory:/\n3:cpu,cpuacct:/docker/abc\n0::/\n";

/** The cores on a machine of 64, by the files of the system that are there. */
const coresWith = (files: Readonly<Record<string, string>>) =>
  usableCores(CORES, (path) => files[path] ?? null);

describe("OSTIARY_WORKERS=auto", () => {
  it.each<[string, number, Readonly<Record<string, string>>]>([
    ["nowhere", CORES, {}],
    ["without a quota", CORES, { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "max 100000\n" }],
    ["in a container", 2, { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "250000 100000\n" }],
    [
      "with less than a core",
      1,
      { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "50000 100000\n" },
    ],
    [
      "below a slice of systemd",
      3,
      {
        "/proc/self/cgroup": "0::/models.slice/ostiary.service\n",
        "/sys/fs/cgroup/models.slice/ostiary.service/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/models.slice/cpu.max": "300000 100000\n",
      },
    ],
    [
      "in a container with control groups of version 1",
      4,
      {
        "/proc/self/cgroup": V1,
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000\n",
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
      },
    ],
    [
      "with these, without a quota",
      CORES,
      {
        "/proc/self/cgroup": V1,
        "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us": "-1\n",
        "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000\n",
      },
    ],
  ])("counts the cores for which the CPU time of its control group suffices: %s", (_, cores, files) => {
    expect(coresWith(files)).toBe(cores);
  });
});
