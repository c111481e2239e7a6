import { Agenda, type Happening } from "./agenda.ts";
import { installGlobals } from "./globals.ts";
import { Random } from "./random.ts";
import { takeSteps } from "./steps.ts";

/** A run with more steps than this repeats something without end. */
const MAX_STEPS = 2_000_000;

/**
 * One life of a simulated process, from its start to its end. Timers and answers belong to the life that asked for them and
 * are dropped once it is over: a crashed process does nothing any more.
 */
export class Life {
  readonly name: string;
  /** How far the process's wall clock is ahead of true time. */
  wallClockAheadMs = 0;
  /** Until then the process is stopped, as by SIGSTOP: what would wake it waits, and time passes. */
  frozenUntilMs = 0;
  /** How often the process was woken: by a timer, an answer or a request. */
  steps = 0;
  /** When it was woken so often, the process crashes instead of going on. Every step is as likely as any other. */
  crashAtStep = Number.POSITIVE_INFINITY;
  /** Called when the process ends, however it does. */
  onEnd: () => void = () => {};
  #isOver = false;

  constructor(name: string) {
    this.name = name;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends the process at once. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onEnd();
  }
}

/** Something that is scheduled. */
export interface Scheduled extends Happening {
  readonly life: Life | null;
  readonly run: () => void;
}

export interface RunOptions {
  /** The virtual time at which the run ends. */
  readonly untilMs: number;
  /** Whether the run may end now. Asked after each step. */
  readonly isOver?: () => boolean;
}

/**
 * A world with a clock of its own. The run takes what is due first, moves the clock to its time, performs it, and lets all
 * promises settle before it takes the next: what happens follows from the seed alone.
 *
 * Code under test runs unchanged. For the time of a run timers, `Date`, `performance.now`, `Math.random` and
 * `crypto.randomUUID` are those of the world (see {@link installGlobals}).
 */
export class World {
  readonly random: Random;
  /** What `Math.random` and `crypto` draw from during a run. */
  readonly runtimeRandom: Random;
  #nowMs = 0;
  #order = 0;
  #steps = 0;
  #life: Life | null = null;
  readonly #agenda = new Agenda<Scheduled>();
  readonly #trace: string[] | null;

  /** `isTraced`: whether {@link note} keeps what it is told, and errors have stack traces. */
  constructor(seed: number, isTraced = false) {
    this.random = new Random(seed);
    this.runtimeRandom = this.random.fork("runtime");
    this.#trace = isTraced ? [] : null;
  }

  /** Milliseconds since the world began. No process's clock: those may be wrong. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whose code is running; `null`: the scenario's own, or a store's. */
  get life(): Life | null {
    return this.#life;
  }

  /** How much has happened. */
  get steps(): number {
    return this.#steps;
  }

  /** Whether errors have stack traces. */
  get isTraced(): boolean {
    return this.#trace !== null;
  }

  /** What was noted, in order, if the world is traced. */
  get trace(): readonly string[] {
    return this.#trace ?? [];
  }

  /** `life`: the process that it belongs to, and with whose end it is dropped; `null`: it happens in any case. */
  schedule(delayMs: number, life: Life | null, run: () => void): Scheduled {
    const dueMs = this.#nowMs + Math.max(0, delayMs);
    const scheduled = { dueMs, order: this.#order++, isCancelled: false, life, run };
    this.#agenda.add(scheduled);
    return scheduled;
  }

  /** Records what happens, so that a failing run can be understood. Costs nothing in a world that is not traced. */
  note(text: () => string): void {
    this.#trace?.push(`${(this.#nowMs / 1_000).toFixed(4).padStart(10)} s  ${text()}`);
  }

  /** Lets the world run. Called once. */
  async run(options: RunOptions): Promise<void> {
    const restore = installGlobals(this);
    try {
      await takeSteps(() => this.#step(options));
    } finally {
      this.#life = null;
      restore();
    }
  }

  /** Performs what is due next. @returns `false` when the run is over. */
  #step({ untilMs, isOver = () => false }: RunOptions): boolean {
    this.#life = null;
    if (this.#steps > MAX_STEPS) throw new Error(`more than ${MAX_STEPS} steps in one run`);
    while (!isOver()) {
      const next = this.#agenda.takeDue(untilMs);
      if (next === null) {
        this.#nowMs = untilMs;
        return false;
      }
      this.#nowMs = next.dueMs;
      if (next.life !== null && !next.life.isOver && next.life.frozenUntilMs > this.#nowMs) {
        next.dueMs = next.life.frozenUntilMs;
        this.#agenda.add(next);
        continue;
      }
      if (next.life !== null && !this.#enter(next.life)) continue;
      this.#steps++;
      next.run();
      return true;
    }
    return false;
  }

  /** @returns whether the process is there to go on. */
  #enter(life: Life): boolean {
    if (!life.isOver && life.steps++ >= life.crashAtStep) life.end();
    if (life.isOver) return false;
    this.#life = life;
    return true;
  }
}
