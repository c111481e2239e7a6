import type { World } from "./world.ts";

/** A node's disk: numbered files of lines. What was written survives the process that wrote it. */
export class Disk {
  readonly #files = new Map<number, string[]>();
  /** Whether nothing can be written. */
  isFull = false;

  /** The files' numbers, in order. */
  get names(): readonly number[] {
    return [...this.#files.keys()].sort((one, other) => one - other);
  }

  /** @throws {Error} `ENOSPC` */
  append(name: number, lines: readonly string[]): void {
    if (this.isFull) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
    const file = this.#files.get(name);
    if (file === undefined) this.#files.set(name, [...lines]);
    else file.push(...lines);
  }

  /** @throws {Error} `ENOENT` */
  read(name: number): readonly string[] {
    return this.#files.get(name) ?? notThere();
  }

  /** @throws {Error} `ENOENT` */
  remove(name: number): void {
    if (!this.#files.delete(name)) notThere();
  }
}

function notThere(): never {
  throw Object.assign(new Error("ENOENT"), { code: "ENOENT" });
}

/** How long a write takes: mostly next to nothing. */
export function writeDelay({ random }: World): number {
  return random.chance(0.98) ? random.between(0.01, 0.2) : random.between(0.2, 40);
}
