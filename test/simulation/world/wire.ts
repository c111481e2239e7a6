import { Call } from "./call.ts";
import { MessageFaults } from "./message-fault.ts";
import type { Random } from "./random.ts";
import type { Life, World } from "./world.ts";

/**
 * How a wire is. `up`; `cut`: connections break, and new ones are refused; `stalled`: what is sent arrives when the wire is up
 * again; `silent`: what is sent or on its way is lost, and neither side is told.
 */
export type WireState = "up" | "cut" | "stalled" | "silent";

export interface WireOptions {
  /** Whether all goes over one connection, and so arrives in the order in which it was sent. */
  readonly isOrdered: boolean;
  /**
   * After so long the caller gives an answer up; `null`: only TCP does. Where all goes over one connection, that is closed
   * then, and a new one is made: what is on its way over the old one may still arrive, and holds up nothing any more.
   */
  readonly timeoutMs: number | null;
}

/** TCP gives a peer up that has acknowledged nothing for so long. */
const TCP_GIVES_UP_MS = 15 * 60_000;
/** Drivers connect again so soon. */
const RECONNECT_MS = 50;
/** Of what a process has sent before it died, so much never arrives. */
const LOST_WITH_PROCESS = 0.3;

/** What code under test reaches a store by: one life's end of a {@link Wire}. */
export interface Link {
  /** Has the store carry an operation out when it arrives there, and resolves when the answer is back. */
  call<Answer>(operation: string, apply: () => Answer): Promise<Answer>;
  /** Calls back whenever the connection breaks, for as long as the process lives. */
  onClosed(listener: () => void): void;
  /** Calls back whenever there is a connection again after that. */
  onOpened(listener: () => void): void;
}

/** The network between one process and one store. It outlives the process's lives. */
export class Wire {
  readonly name: string;
  readonly faults = new MessageFaults();
  readonly #world: World;
  readonly #random: Random;
  /** What delays of each operation are drawn from: more or fewer of one change nothing about the others. */
  readonly #delays = new Map<string, Random>();
  readonly #options: WireOptions;
  #state: WireState = "up";
  /** Calls whose callers wait for an answer. */
  readonly #open = new Set<Call>();
  /** What goes on when the wire is up again, and whose step that is. */
  #held: { readonly life: Life | null; readonly move: () => void }[] = [];
  #lastArrivalMs = 0;
  #lastAnswerMs = 0;
  #openListeners: { readonly life: Life; readonly tell: () => void }[] = [];
  #closeListeners: { readonly life: Life; readonly tell: () => void }[] = [];

  constructor(world: World, name: string, options: WireOptions) {
    this.name = name;
    this.#world = world;
    this.#random = world.random.fork(name);
    this.#options = options;
  }

  get state(): WireState {
    return this.#state;
  }

  setState(state: WireState): void {
    if (state === this.#state) return;
    this.#world.note(() => `wire ${this.name} is ${state}`);
    this.#state = state;
    if (state === "cut") this.#breakConnections();
    if (state === "silent") for (const call of this.#open) this.#lose(call);
    if (state !== "up") return;
    this.#tellOpened();
    const held = this.#held;
    this.#held = [];
    for (const { life, move } of held) this.#world.schedule(0, life, move);
  }

  #tellOpened(): void {
    this.#openListeners = this.#openListeners.filter(({ life }) => !life.isOver);
    for (const { life, tell } of this.#openListeners) this.#world.schedule(RECONNECT_MS, life, tell);
  }

  /** Breaks all connections, as a store that restarts does. What is on its way there may arrive all the same. */
  #breakConnections(): void {
    for (const call of this.#open) {
      if (this.#random.chance(0.5)) call.isLost = true;
      this.#failLater(call, this.#random.between(0, 5), "ECONNRESET");
    }
    this.#closeListeners = this.#closeListeners.filter(({ life }) => !life.isOver);
    for (const { life, tell } of this.#closeListeners) this.#world.schedule(0, life, tell);
  }

  /** The wire's end at a process. */
  linkOf(life: Life): Link {
    return {
      call: (operation, apply) => this.#call(life, operation, apply),
      onClosed: (tell) => void this.#closeListeners.push({ life, tell }),
      onOpened: (tell) => void this.#openListeners.push({ life, tell }),
    };
  }

  #call<Answer>(life: Life, operation: string, apply: () => Answer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const attempt = () => {
        try {
          const answer = apply();
          return () => resolve(answer);
        } catch (error) {
          return () => reject(error);
        }
      };
      this.#send(new Call({ life, operation, attempt, reject }));
    });
  }

  #send(call: Call): void {
    if (this.#state === "cut") {
      this.#failLater(call, this.#random.between(0.2, 5), "ECONNREFUSED");
      return;
    }
    this.#open.add(call);
    call.fault = this.faults.takeFor(call.operation);
    if (this.#options.timeoutMs !== null) this.#giveUpAfter(call, this.#options.timeoutMs);
    if (this.#state === "silent") this.#lose(call);
    else this.#carry(null, () => this.#travel(call));
  }

  #travel(call: Call): void {
    const { fate, byMs } = call.fault ?? { fate: null, byMs: 0 };
    if (fate !== null) this.#world.note(() => `${call.life.name}: ${call.operation}: ${fate}, ${byMs} ms`);
    if (fate === "request-lost") {
      this.#failLater(call, this.#delay(call), "ECONNRESET");
      return;
    }
    const dueMs = this.#world.nowMs + this.#delay(call) + (fate === "request-late" ? byMs : 0);
    this.#lastArrivalMs = this.#inOrder(dueMs, this.#lastArrivalMs);
    this.#world.schedule(this.#lastArrivalMs - this.#world.nowMs, null, () => {
      this.#carry(null, () => this.#arrive(call));
    });
    if (fate === "request-twice")
      this.#world.schedule(this.#delay(call) + byMs, null, () => this.#perform(call));
  }

  #arrive(call: Call): void {
    const { life, fault } = call;
    if (call.isLost || (life.isOver && this.#random.chance(LOST_WITH_PROCESS))) return;
    const tell = this.#perform(call);
    if (fault?.fate === "answer-lost") {
      this.#failLater(call, this.#delay(call), "ECONNRESET");
      return;
    }
    const dueMs = this.#world.nowMs + this.#delay(call) + (fault?.fate === "answer-late" ? fault.byMs : 0);
    this.#lastAnswerMs = this.#inOrder(dueMs, this.#lastAnswerMs);
    this.#world.schedule(this.#lastAnswerMs - this.#world.nowMs, life, () => {
      this.#carry(life, () => {
        if (!call.isLost) this.#settle(call, () => call.settle(tell));
      });
    });
  }

  #perform(call: Call): () => void {
    const { life, operation } = call;
    this.#world.note(() => `${life.name}: ${operation}${life.isOver ? ", sent before it died" : ""}`);
    return call.attempt();
  }

  /** At once, or when the wire is up again. */
  #carry(life: Life | null, move: () => void): void {
    if (this.#state === "stalled") this.#held.push({ life, move });
    else move();
  }

  /** The rest of the call is lost, and its caller is not told. */
  #lose(call: Call): void {
    call.isLost = true;
    if (call.giveUp === null) this.#giveUpAfter(call, TCP_GIVES_UP_MS);
  }

  #giveUpAfter(call: Call, ms: number): void {
    call.giveUp = this.#world.schedule(ms, call.life, () => {
      this.#settle(call, () => call.fail("ETIMEDOUT"));
      if (this.#options.isOrdered) this.#replaceConnection();
    });
  }

  #replaceConnection(): void {
    this.#lastArrivalMs = 0;
    this.#lastAnswerMs = 0;
    this.#breakConnections();
    if (this.#state === "up") this.#tellOpened();
  }

  #failLater(call: Call, delayMs: number, code: string): void {
    this.#world.schedule(delayMs, call.life, () => this.#settle(call, () => call.fail(code)));
  }

  #settle(call: Call, settle: () => void): void {
    this.#open.delete(call);
    settle();
  }

  #inOrder(dueMs: number, lastMs: number): number {
    return this.#options.isOrdered ? Math.max(dueMs, lastMs) : dueMs;
  }

  /** Mostly a millisecond or two, now and then much more. */
  #delay({ operation }: Call): number {
    let random = this.#delays.get(operation);
    if (random === undefined) {
      random = this.#random.fork(operation);
      this.#delays.set(operation, random);
    }
    const kind = random.next();
    if (kind < 0.9) return random.between(0.2, 3);
    return kind < 0.99 ? random.between(3, 60) : random.between(60, 1_000);
  }
}
