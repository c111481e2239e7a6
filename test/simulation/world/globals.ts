import type { Random } from "./random.ts";
import type { Life, Scheduled } from "./world.ts";

/** Where virtual wall clocks begin: 2026-01-01, UTC. */
export const EPOCH_MS = 1_767_225_600_000;
/** The event loop's own, whatever stands in its place. */
export const realSetImmediate = globalThis.setImmediate;
const RealDate = globalThis.Date;
/** As in Node: no timer is shorter, and longer ones than 2³¹ ms count as this. */
const MIN_TIMER_MS = 1;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What the functions that stand in for the runtime's need of a world. */
export interface VirtualTime {
  readonly nowMs: number;
  readonly life: Life | null;
  /** What `Math.random` and `crypto` draw from. */
  readonly runtimeRandom: Random;
  /** Whether errors have stack traces. */
  readonly isTraced: boolean;
  schedule(delayMs: number, life: Life | null, run: () => void): Scheduled;
}

type Callback = (...args: unknown[]) => void;

/** What `setTimeout` returns, as far as code uses it. */
class Timer {
  scheduled: Scheduled;

  constructor(scheduled: Scheduled) {
    this.scheduled = scheduled;
  }

  cancel(): void {
    this.scheduled.isCancelled = true;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

/** Puts a world's time and randomness in the place of the runtime's. @returns what puts the runtime's back. */
export function installGlobals(world: VirtualTime): () => void {
  const undo: (() => void)[] = [];
  const replace = (target: object, name: string, value: unknown) => {
    const former = Object.getOwnPropertyDescriptor(target, name);
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
    undo.push(() => {
      if (former === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, former);
    });
  };
  const cancel = (timer: unknown) => {
    if (timer instanceof Timer) timer.cancel();
  };
  replace(globalThis, "setTimeout", (run: Callback, ms: number, ...args: unknown[]) => {
    return new Timer(world.schedule(delayOf(ms), world.life, () => run(...args)));
  });
  replace(globalThis, "setInterval", (run: Callback, ms: number, ...args: unknown[]) => {
    const { life } = world;
    const tick = () => {
      timer.scheduled = world.schedule(delayOf(ms), life, tick);
      run(...args);
    };
    const timer: Timer = new Timer(world.schedule(delayOf(ms), life, tick));
    return timer;
  });
  replace(globalThis, "setImmediate", (run: Callback, ...args: unknown[]) => {
    return new Timer(world.schedule(0, world.life, () => run(...args)));
  });
  replace(globalThis, "clearTimeout", cancel);
  replace(globalThis, "clearInterval", cancel);
  replace(globalThis, "clearImmediate", cancel);
  replace(globalThis, "Date", virtualDate(world));
  replace(globalThis.performance, "now", () => world.nowMs);
  replace(Math, "random", () => world.runtimeRandom.next());
  replace(globalThis.crypto, "randomUUID", () => randomUuid(world));
  replace(globalThis.crypto, "getRandomValues", <View extends ArrayBufferView>(view: View): View => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (let at = 0; at < bytes.length; at++) bytes[at] = world.runtimeRandom.below(256);
    return view;
  });
  // There are many refusals and lost connections, and nobody reads their stack traces, which took a tenth of the time.
  if (!world.isTraced) replace(Error, "stackTraceLimit", 0);
  return () => {
    for (const restore of undo.reverse()) restore();
  };
}

function delayOf(ms: number): number {
  const isUsable = ms >= MIN_TIMER_MS && ms <= MAX_TIMER_MS;
  return isUsable ? Math.trunc(ms) : MIN_TIMER_MS;
}

/** `Date` by the wall clock of the process whose code runs, which may be wrong. */
function virtualDate(world: VirtualTime): DateConstructor {
  const wallMs = () => Math.floor(EPOCH_MS + world.nowMs + (world.life?.wallClockAheadMs ?? 0));
  return class VirtualDate extends RealDate {
    constructor(...args: [] | [number | string | Date]) {
      if (args.length === 0) super(wallMs());
      else super(...(args as [number]));
    }

    static override now(): number {
      return wallMs();
    }
  } as DateConstructor;
}

function randomUuid(world: VirtualTime): string {
  const hex = (length: number) =>
    Math.floor(world.runtimeRandom.next() * 16 ** length)
      .toString(16)
      .padStart(length, "0");
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
}
