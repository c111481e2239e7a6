import { describe, expect, it } from "vitest";
import { bodyBytesOf, memoryWarnings } from "../../server/src/start/memory.ts";

const MIB = 1024 * 1024;
const UNSET = { maxUnfinishedBodyBytes: null, maxBodyBytes: 20 * MIB, workers: 1 };
/** A container with this limit, and the maximum heap that Node 20 gives itself there. */
const CONTAINERS = {
  small: { bytes: 256 * MIB, heapBytes: 352 * MIB },
  medium: { bytes: 512 * MIB, heapBytes: 352 * MIB },
  large: { bytes: 1024 * MIB, heapBytes: 608 * MIB },
  machine: { bytes: 24 * 1024 * MIB, heapBytes: 4144 * MIB },
};

describe("the bytes of request bodies that a process may have at once", () => {
  it.each([
    ["medium", 10],
    ["large", 20],
    ["machine", 20],
  ] as const)("fit into a %s container with all copies, with bodies of up to %i MiB", (name, maxMib) => {
    const memory = CONTAINERS[name];
    const config = { ...UNSET, maxBodyBytes: maxMib * MIB };
    const bytes = bodyBytesOf(config, memory);
    expect(bytes).toBeGreaterThanOrEqual(2 * config.maxBodyBytes);
    // Bodies of more than 64 KiB may use seven eighths.
    expect((7 / 8) * bytes * 8).toBeLessThan(memory.bytes - 300 * MIB);
    expect((7 / 8) * bytes * 6).toBeLessThan(memory.heapBytes - 200 * MIB);
    expect(memoryWarnings(config, memory)).toEqual([]);
  });

  it("are divided among workers", () => {
    const { machine } = CONTAINERS;
    const four = bodyBytesOf({ ...UNSET, workers: 4 }, { ...machine, bytes: 8 * 1024 * MIB });
    expect(4 * (four * 8 + 300 * MIB)).toBeLessThanOrEqual(8 * 1024 * MIB);
  });

  it("let a body of the maximum size in, however small the container is, and the service warns of it", () => {
    const { small } = CONTAINERS;
    expect(bodyBytesOf(UNSET, small)).toBe(2 * UNSET.maxBodyBytes);
    expect(memoryWarnings(UNSET, small)).toEqual([expect.stringContaining("256 MiB of memory")]);
    expect(memoryWarnings(UNSET, CONTAINERS.medium)).toEqual([
      expect.stringContaining("OSTIARY_MAX_BODY_BYTES"),
    ]);
  });

  it("are what is configured, and the service warns if that is too much", () => {
    const { medium, machine } = CONTAINERS;
    const configured = { ...UNSET, maxUnfinishedBodyBytes: 256 * MIB };
    expect(bodyBytesOf(configured, medium)).toBe(256 * MIB);
    expect(memoryWarnings(configured, medium)).toEqual([
      expect.stringContaining("OSTIARY_MAX_UNFINISHED_BODY_BYTES"),
    ]);
    expect(memoryWarnings(configured, machine)).toEqual([]);
  });
});
