import type { Database, Line, Message, Spender, State } from "./state.ts";
import { insert, rowOf } from "./state.ts";

/** What the database answers, beside what the message was about. */
export type Answer = Partial<Pick<Message, "spender" | "granted" | "gone" | "ids" | "below">>;

/** Carries a message out: one transaction under the account's lock. */
export function applyMessage(state: State, message: Message): Answer | undefined {
  const { db } = state;
  switch (message.kind) {
    case "open":
      db.spenders.push({ id: db.next, node: message.node, granted: 0, charged: 0, number: 0 });
      return { spender: db.next++ };
    case "ask":
      return applyAsk(state, message);
    case "batch":
      return applyBatch(state, message.entries ?? []);
    case "close": {
      const { below = 0 } = message;
      const isAll = state.faults.has("close-all");
      closeSpenders(db, ({ id, node }) => node === message.node && (isAll ? id !== below : id < below));
      return { below };
    }
    case "giveback":
      applyBlindGiveBack(db, message);
      return undefined;
  }
}

/** Sets what is granted to a target, as far as free credit reaches; only if no newer ask was applied. */
function applyAsk({ db, faults }: State, { spender = 0, number = 0, target = 0 }: Message): Answer {
  const row = rowOf(db, spender);
  // The foreign key refuses it.
  if (row === undefined) return { gone: true };
  if (row.number < number || faults.has("unnumbered")) {
    const granted = Math.max(row.charged, Math.min(target, row.granted + db.free));
    db.free -= granted - row.granted;
    row.granted = granted;
    row.number = number;
  }
  return { granted: row.granted };
}

/** Commits entries that are not there yet, with their charges: from the spender's row, then from free credit, and no further. */
function applyBatch(state: State, entries: readonly Line[]): Answer {
  const { db, faults } = state;
  for (const { id, spender, cost, real, key } of entries) {
    if (!db.entries.includes(id)) {
      insert(db.entries, id);
      state.cost += real;
    } else if (!faults.has("recharge")) continue;
    const row = rowOf(db, spender);
    // As `update … where answered_at is null` tells.
    const isRepeat = key === 1 && db.key !== 0 && db.key !== id && !faults.has("charge-repeats");
    if (key === 1) db.key ||= id;
    const due = isRepeat ? 0 : cost;
    const used = row === undefined ? 0 : Math.min(cost, row.granted - row.charged);
    const aside = Math.min(due, used);
    // What is set aside for a repeated answer is free again.
    db.free += used - aside;
    const more = faults.has("blind-debit") ? due - aside : Math.min(due - aside, db.free);
    db.free -= more;
    db.collected += aside + more;
    if (key === 1 && !isRepeat && cost > 0) db.keyedCharged++;
    const reason = isRepeat ? "repeated" : db.released.includes(spender) ? "late" : "uncollected";
    db[reason] += cost - aside - more;
    if (row === undefined) continue;
    // What did not come from what was set aside counts as set aside for this: `granted − charged` stays as it is, and `charged`
    // is the sum of all costs.
    row.charged += cost;
    row.granted += cost - used;
  }
  return { ids: entries.map(({ id }) => id) };
}

/** Ends spenders: what is left of them becomes free, and messages that name them find nothing any more. */
export function closeSpenders(db: Database, isEnded: (row: Spender) => boolean): void {
  for (const row of db.spenders) if (isEnded(row)) db.free += row.granted - row.charged;
  db.spenders = db.spenders.filter((row) => !isEnded(row));
}

/** With the fault `blind-giveback`. */
function applyBlindGiveBack(db: Database, { spender = 0, amount = 0, number = 0 }: Message): void {
  const row = rowOf(db, spender);
  if (row === undefined) return;
  const back = Math.min(amount, row.granted - row.charged);
  row.granted -= back;
  row.number = Math.max(row.number, number);
  db.free += back;
}
