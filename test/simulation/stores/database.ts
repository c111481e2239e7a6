import type { UnpublishedVersions } from "../../../server/src/admission/publisher.ts";
import type { EntrySink } from "../../../server/src/audit/entry-sink.ts";
import type { AccountId } from "../../../server/src/contract/account.ts";
import type { SpenderId } from "../../../server/src/contract/ids.ts";
import type { KeyLookup } from "../../../server/src/contract/key.ts";
import { CLOSE_TIMEOUT_MS, type CreditStore } from "../../../server/src/credits/credit-store.ts";
import { pauseFor } from "../../../server/src/errors/deadline.ts";
import type { IdempotencyStore } from "../../../server/src/idempotency/idempotency.ts";
import type { KeyStore } from "../../../server/src/keys/keys.ts";
import { EPOCH_MS } from "../world/globals.ts";
import type { Link } from "../world/wire.ts";
import { CreditDatabase } from "./credit-database.ts";
import type { IdempotencyTable } from "./idempotency-table.ts";
import { KeyTables } from "./key-tables.ts";
import type { ReintroducedFaults } from "./reintroduced-faults.ts";

/** The server cancels a statement after this time. */
const STATEMENT_TIMEOUT_MS = 4_000;

/** Operations of the database on credit, by which faults name them. */
export const CREDIT_OPERATIONS = ["openSpender", "ask", "heartbeat", "closeBelow", "insertEntries"] as const;

/** All of its operations that faults name. */
export const DATABASE_OPERATIONS = [
  ...CREDIT_OPERATIONS,
  "claim",
  "releaseClaim",
  "findKey",
  "revokeKey",
] as const;

/** A simulated PostgreSQL: tables, and for each node the interfaces that the code has for it. */
export class SimulatedDatabase {
  readonly credit: CreditDatabase;
  readonly keys = new KeyTables();

  /** Called when its clock has jumped. */
  onClockJumped: () => void = () => {};
  /** What its clock shows, in milliseconds since 1970. */
  readonly #nowMs: () => number;
  readonly #faults: ReintroducedFaults;
  #aheadMs = 0;

  constructor(nowMs: () => number, faults: ReintroducedFaults) {
    this.#nowMs = () => EPOCH_MS + nowMs() + this.#aheadMs;
    this.#faults = faults;
    this.credit = new CreditDatabase(this.#nowMs, faults);
  }

  jumpClock(byMs: number): void {
    this.#aheadMs += byMs;
    this.onClockJumped();
  }

  get idempotency(): IdempotencyTable {
    return this.credit.idempotency;
  }

  creditStore(link: Link, nodeId: string): CreditStore {
    const { credit } = this;
    return {
      open: () => link.call("openSpender", () => credit.open(nodeId)),
      ask: async (ask) => {
        if (credit.isLocked(ask.accountId)) await this.#waitInVain();
        return link.call("ask", () => credit.ask(ask));
      },
      heartbeat: (spenders) => link.call("heartbeat", () => credit.heartbeat(spenders)),
      closeBelow: async (id) => {
        if (this.#faults.has("closes hold up others")) await this.#holdUp(credit.accountsBelow(nodeId, id));
        // Each part is a message of its own, so that nodes are killed and messages lost between two of them.
        for (;;) {
          const outcome = await link.call("closeBelow", () => credit.closeNext(nodeId, id));
          if (outcome !== "went on") return outcome === "closed";
        }
      },
      listUnseen: (unseenMs) => link.call("listUnseen", () => credit.listUnseen(nodeId, unseenMs)),
      releaseUnseen: (spender, unseenMs) =>
        link.call("releaseUnseen", () => credit.releaseUnseen(spender, unseenMs)),
    };
  }

  entrySink(link: Link): EntrySink {
    const { credit } = this;
    const isHeldUp = this.#faults.has("locked accounts hold up others");
    return {
      insertEntries: async (entries, { locked } = {}) => {
        const isWaiting = locked !== "skip" || isHeldUp;
        if (isWaiting && entries.some(({ accountId }) => credit.isLocked(accountId))) {
          if (isHeldUp) await this.#waitInVain();
          else await pauseFor(STATEMENT_TIMEOUT_MS).over;
        }
        return link.call("insertEntries", () => credit.insertUnlocked(entries));
      },
    };
  }

  /** As a statement does for which another transaction has locked rows. */
  async #waitInVain(): Promise<never> {
    await pauseFor(STATEMENT_TIMEOUT_MS).over;
    throw Object.assign(new Error("canceling statement due to statement timeout"), { code: "57014" });
  }

  /** With the fault reintroduced: one transaction locks the accounts, and waits for one that is locked. */
  async #holdUp(accounts: readonly AccountId[]): Promise<void> {
    const { credit } = this;
    if (!accounts.some((id) => credit.locked.includes(id))) return;
    credit.lockedByCloses.push(...accounts);
    await pauseFor(CLOSE_TIMEOUT_MS).over;
    for (const id of accounts) credit.lockedByCloses.splice(credit.lockedByCloses.indexOf(id), 1);
  }

  /** With what a start asks of it besides. */
  idempotencyStore(
    link: Link,
    nodeId: string,
    spender: () => SpenderId | null,
  ): IdempotencyStore & { clear(spender: SpenderId): Promise<void> } {
    const table = this.idempotency;
    return {
      claim: (request, claim, replaceable) => {
        const by = spender();
        return link.call("claim", () => table.claim(nodeId, by, request, claim, replaceable));
      },
      now: () => link.call("now", () => new Date(this.#nowMs())),
      release: (claims) => link.call("releaseClaim", () => table.release(claims)),
      renew: (claims) => link.call("renewClaims", () => table.renew(claims)),
      clear: (present) => link.call("clearClaims", () => table.clear(nodeId, present)),
    };
  }

  keyLookup(link: Link): KeyLookup {
    return {
      findKeyByDigest: (digest) => link.call("findKey", () => this.keys.findByDigest(digest)),
      findDigest: () => notSimulated(),
    };
  }

  /** Revoking only. */
  keyStore(link: Link): KeyStore {
    return {
      createKey: () => notSimulated(),
      listKeys: () => notSimulated(),
      findKeys: () => notSimulated(),
      countKeys: () => notSimulated(),
      listAddresses: () => notSimulated(),
      revokeKey: (account, id, _, now) => link.call("revokeKey", () => this.keys.revoke(account, id, now)),
    };
  }

  unpublishedVersions(link: Link): UnpublishedVersions {
    const { keys } = this;
    return {
      list: (after, limit) => link.call("listUnpublished", () => keys.listUnpublished(after, limit)),
      isPending: (account, version) => link.call("isPending", () => keys.isPending(account, version)),
      clear: (account, version) =>
        link.call("clearUnpublished", () => keys.clearUnpublished(account, version)),
    };
  }
}

function notSimulated(): never {
  throw new Error("no scenario asks for this");
}
