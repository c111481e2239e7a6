import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { numberOf } from "../../json/members.ts";

/** The kinds of items that are read. */
export type ItemKind = "message" | "reasoning" | "function_call";

const KINDS: ReadonlySet<Json | undefined> = new Set<ItemKind>(["message", "reasoning", "function_call"]);

/** What was read of an item of a streamed response. */
export interface ReceivedItem {
  /** By which it is recognized if it is repeated: of a call that of the client. */
  readonly id: string | null;
  /** Whether a piece of it was read. */
  hasPieces: boolean;
  /** Whether it was read to its end. */
  hasEnded: boolean;
  /** The number of the call; `null`: it is none. */
  call: number | null;
  /** The type of event that has brought the pieces of a thought. */
  thought: string | null;
}

/** The kind of an item; `null`: it is not read. */
export function kindOf({ type }: JsonObject): ItemKind | null {
  return KINDS.has(type) ? (type as ItemKind) : null;
}

/**
 * The items of a streamed response, by kind and position. Proxies that translate other formats number calls and messages apart, or give all items the
 * position 0. An item that begins where one of its kind has ended is therefore another one.
 */
export class ReceivedItems {
  readonly #items: Readonly<Record<ItemKind, Map<number, ReceivedItem>>> = {
    message: new Map(),
    reasoning: new Map(),
    function_call: new Map(),
  };
  readonly #calls = new Map<string, ReceivedItem>();
  /** The positions of items by their ids, for events that have only an id. Below 0: no event has had the position yet, and this number stands for it. */
  readonly #positions = new Map<string, number>();

  /** The position of the item that an event is about; -1 if the event has neither a position nor an id. */
  positionOf({ output_index: position, item_id: itemId, item }: JsonObject): number {
    const id = isJsonObject(item) ? item.id : itemId;
    const sent = numberOf(position);
    if (typeof id !== "string") return sent ?? -1;
    const known = this.#positions.get(id);
    // An item keeps the position under which its first pieces were read.
    if (known !== undefined && (sent === null || known < 0)) return known;
    const found = sent ?? -2 - this.#positions.size;
    this.#positions.set(id, found);
    return found;
  }

  /** The item that was last begun there. */
  at(kind: ItemKind, position: number): ReceivedItem | undefined {
    return this.#items[kind].get(position);
  }

  /** The item that a piece is of. */
  withPiece(kind: ItemKind, position: number): ReceivedItem {
    const item = this.at(kind, position) ?? this.#begin(kind, position, null);
    item.hasPieces = true;
    return item;
  }

  /** The call that a client knows by this id. */
  call(id: string): ReceivedItem | undefined {
    return this.#calls.get(id);
  }

  /** The item that an event begins. Where one of its kind has not ended, it is that one, except for another call. */
  begun(kind: ItemKind, position: number, item: JsonObject): ReceivedItem {
    const known = this.at(kind, position);
    const id = idOf(kind, item);
    if (known === undefined) return this.#begin(kind, position, id);
    const isKnown = kind === "function_call" && id !== null ? id === known.id : !known.hasEnded;
    return isKnown ? known : this.#begin(kind, position, id);
  }

  /** The item that an event ends. Where one has ended, it is that one again, unless they have different ids. */
  ended(kind: ItemKind, position: number, item: JsonObject): ReceivedItem {
    const id = idOf(kind, item);
    const call = kind === "function_call" && id !== null ? this.#calls.get(id) : undefined;
    const known = call ?? this.at(kind, position);
    if (known === undefined) return this.#begin(kind, position, id);
    const isAnother = known.hasEnded && id !== null && known.id !== null && id !== known.id;
    return isAnother ? this.#begin(kind, position, id) : known;
  }

  #begin(kind: ItemKind, position: number, id: string | null): ReceivedItem {
    const item = { id, hasPieces: false, hasEnded: false, call: null, thought: null };
    this.#items[kind].set(position, item);
    if (kind === "function_call" && id !== null) this.#calls.set(id, item);
    return item;
  }
}

function idOf(kind: ItemKind, { id, call_id: callId }: JsonObject): string | null {
  const own = kind === "function_call" ? callId : id;
  return typeof own === "string" ? own : null;
}
