import { Wire, type WireOptions } from "./wire.ts";
import type { World } from "./world.ts";

/** All wires between processes and stores. */
export class Network {
  readonly #world: World;
  readonly #stores: Readonly<Record<string, WireOptions>>;
  readonly #wires = new Map<string, Wire>();

  /** `stores`: how each store is reached, by its name. */
  constructor(world: World, stores: Readonly<Record<string, WireOptions>>) {
    this.#world = world;
    this.#stores = stores;
  }

  /** The wire between a process and a store, both by their names. */
  wire(process: string, store: string): Wire {
    const name = `${process}–${store}`;
    const known = this.#wires.get(name);
    if (known !== undefined) return known;
    const options = this.#stores[store];
    if (options === undefined) throw new Error(`there is no store ${store}`);
    const wire = new Wire(this.#world, name, options);
    this.#wires.set(name, wire);
    return wire;
  }

  /** Mends all wires: from now on the network only takes its time. */
  mend(): void {
    for (const wire of this.#wires.values()) {
      wire.faults.clear();
      wire.setState("up");
    }
  }
}
