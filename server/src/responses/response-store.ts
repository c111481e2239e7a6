import type { AccountId } from "../contract/account.ts";
import type { Database, SqlFragment } from "../database/database.ts";
import { deleteInBatches } from "../database/delete-in-batches.ts";
import { FairSemaphore } from "../database/fair-semaphore.ts";
import { ANSWER_TIMEOUT_MS, withAnswerTimeout } from "../errors/deadline.ts";
import { type Failure, Unavailable } from "../errors/failure.ts";
import { BoundedParser } from "../json/bounded-parser.ts";
import { type JsonObject, objectsIn } from "../json/json.ts";
import { digestTextOf } from "../secrets/digest.ts";
import type { Sealer } from "../secrets/sealer.ts";
import {
  chainTooLong,
  historyTooLarge,
  type ReferenceField,
  tooManyReferences,
  tooManyValues,
  unknownReference,
  unknownResponse,
} from "./reference-failures.ts";
import { type Part, SEAL_BYTES, SealedParts } from "./sealed-parts.ts";

/** The maximum number of responses that follow each other by `previous_response_id`. */
export const MAX_CHAIN_LENGTH = 1_000;
/** The maximum number of items that one request may refer to. */
export const MAX_ITEM_REFERENCES = 10_000;
/** The maximum number of items of one response that can be referred to. Each costs a row. */
export const MAX_REFERABLE_ITEMS = 10_000;
const DELETE_BATCH = 500;

/** Concurrent statements of an account: fewer than the pool has connections, so that large responses leave some to the other accounts. */
const MAX_OF_ACCOUNT = 3;
const MAX_WAITING_OF_ACCOUNT = 1_000;

/** Ids that a response or an item can be stored under: visible ASCII characters without a slash. */
const ID = /^[!-.0-~]{1,256}$/;

/** A stored response, with the items of its request. It belongs to one account. */
export interface StoredResponse {
  readonly id: string;
  /** The response that it continues, which may have been deleted since. */
  readonly previousResponseId: string | null;
  /** The response as the client received it, with its output. */
  readonly response: JsonObject;
  /** The request's own items, in their order, each with an id; without those of earlier responses. */
  readonly input: readonly JsonObject[];
  readonly createdAt: Date;
}

/** What a model reads before a request that continues a response. */
interface ResponseHistory {
  /** The input and output of each response, oldest first. */
  readonly items: readonly JsonObject[];
  /** Their size as JSON. */
  readonly bytes: number;
}

interface ResponseStoreParts {
  /** Connections of its own, because large responses must not delay statements that others wait for. */
  readonly database: Database;
  /** The number of connections of `database`. */
  readonly maxConnections: number;
  readonly sealer: Sealer;
  /** How long a response is stored, by the database's clock; 0: none is stored. */
  readonly ttlDays: number;
  /** The maximum size of a history, and of the responses that a request's references are read from. */
  readonly maxHistoryBytes: number;
  /** Called once, when a response is found that the keys do not open. */
  readonly onUnreadable: () => void;
}

interface Row extends Readonly<Record<Part, Uint8Array>> {
  readonly previousId: string | null;
  readonly createdAt: Date;
}

interface ChainRow {
  readonly id: string;
  readonly previousId: string | null;
  /** The size of the items of this response and all later ones, as JSON. */
  readonly bytes: bigint;
  /** `null` when the chain is too large to be read. */
  readonly input: Uint8Array | null;
  readonly output: Uint8Array | null;
}

interface SourceRow {
  readonly responseId: string;
  readonly isOutput: boolean;
  /** The digests of the items' ids. */
  readonly digests: readonly string[];
  /** `null` when all of them together are too large to be read. */
  readonly content: Uint8Array | null;
}

/**
 * The stored responses, encrypted in PostgreSQL. What is unknown, expired, deleted, unreadable or another account's is the same to a
 * caller. A shorter TTL applies to responses that are stored already, a longer one to new ones.
 *
 * Each method waits 5 seconds at most, and then rejects with `Unavailable` or the database's own error, which clients see as 503.
 */
export class ResponseStore {
  readonly #parts: ResponseStoreParts;
  readonly #connections: FairSemaphore;
  readonly #sealed: SealedParts;

  constructor(parts: ResponseStoreParts) {
    this.#parts = parts;
    this.#sealed = new SealedParts(parts.sealer, parts.onUnreadable);
    this.#connections = new FairSemaphore({
      max: parts.maxConnections,
      maxOfName: MAX_OF_ACCOUNT,
      maxWaitingOfName: MAX_WAITING_OF_ACCOUNT,
    });
  }

  /** `false` with a TTL of 0: nothing is stored, and every reference is refused. */
  get isStoring(): boolean {
    return this.#parts.ttlDays > 0;
  }

  /**
   * Stores a response with the items of its request. It can be found once this resolves. A response that is stored already stays as it
   * is. Does nothing with a TTL of 0.
   *
   * @throws {Failure} `request_too_large`.
   */
  async save(accountId: AccountId, saved: Omit<StoredResponse, "createdAt">): Promise<void> {
    if (!this.isStoring) return;
    const { id, previousResponseId, response, input } = saved;
    const output = objectsIn(response.output);
    const head = this.#sealed.seal(accountId, id, "head", { ...response, output: [] });
    const sealedInput = this.#sealed.seal(accountId, id, "input", input);
    const sealedOutput = this.#sealed.seal(accountId, id, "output", output);
    const { database, ttlDays } = this.#parts;
    await this.#withConnection(
      accountId,
      () => database`
        with kept as (
          insert into responses (account_id, id, previous_id, expires_at, head, input, output)
          values (
            ${accountId}, ${id}, ${previousResponseId}, now() + ${ttlDays} * interval '1 day',
            ${head}, ${sealedInput}, ${sealedOutput}
          )
          on conflict do nothing
        )
        insert into response_items (account_id, id_digest, response_id, is_output)
        select ${accountId}::uuid, decode(item.digest, 'base64'), ${id}, item.is_output
        from jsonb_to_recordset(${database.json(placesOf(accountId, input, output))}) as item (digest text, is_output boolean)
        on conflict do nothing`,
    );
  }

  /** The response, or `null` if the account has none of this id. */
  async find(accountId: AccountId, id: string): Promise<StoredResponse | null> {
    if (!this.isStoring || !ID.test(id)) return null;
    const { database } = this.#parts;
    const [row] = await this.#withConnection(
      accountId,
      () => database<Row[]>`
        select previous_id as "previousId", created_at as "createdAt", head, input, output
        from responses where account_id = ${accountId} and id = ${id} and ${this.#isCurrent()}`,
    );
    if (row === undefined) return null;
    const { previousId: previousResponseId, createdAt } = row;
    const head = this.#sealed.open(accountId, id, "head", row.head);
    const input = this.#sealed.open(accountId, id, "input", row.input);
    const output = this.#sealed.open(accountId, id, "output", row.output);
    if (head === null || input === null || output === null) return null;
    const response: JsonObject = { ...JSON.parse(head), output: JSON.parse(output) };
    return { id, previousResponseId, response, input: JSON.parse(input), createdAt };
  }

  /** Deletes a response and its items. Responses that continue it stay. @returns whether the account had it. */
  async delete(accountId: AccountId, id: string): Promise<boolean> {
    if (!this.isStoring || !ID.test(id)) return false;
    const { database } = this.#parts;
    const deleted = await this.#withConnection(
      accountId,
      () => database`
        delete from responses where account_id = ${accountId} and id = ${id} and ${this.#isCurrent()}`,
    );
    return deleted.count > 0;
  }

  /**
   * The items of a response and of all that it continues.
   *
   * @param parser counts what the request consists of; it may have counted the body.
   * @throws {Failure} `not_found` naming the first response that is not stored; `invalid_request` beyond {@link MAX_CHAIN_LENGTH};
   *   `request_too_large` beyond `maxHistoryBytes` or the parser's limits. Their `param` is `previous_response_id`.
   */
  async history(
    accountId: AccountId,
    id: string,
    parser: BoundedParser = new BoundedParser(),
  ): Promise<ResponseHistory> {
    const rows = this.isStoring && ID.test(id) ? await this.#chain(accountId, id) : [];
    const [oldest] = rows;
    if (oldest === undefined) throw unknownReference("response", id, this.isStoring);
    if (oldest.bytes > this.#parts.maxHistoryBytes) throw historyTooLarge("previous_response_id");
    if (rows.length > MAX_CHAIN_LENGTH) {
      throw chainTooLong(MAX_CHAIN_LENGTH);
    }
    if (oldest.previousId !== null) throw unknownReference("response", oldest.previousId, this.isStoring);
    const items: JsonObject[] = [];
    for (const row of rows) {
      for (const part of ["input", "output"] as const) {
        const text = this.#sealed.open(accountId, row.id, part, row[part]);
        if (text === null) throw unknownReference("response", row.id, this.isStoring);
        for (const item of await parsedItems(text, parser, "previous_response_id")) items.push(item);
      }
    }
    return { items, bytes: Number(oldest.bytes) };
  }

  /**
   * The items that references name, by id. Where several responses have an item of the same id, the newest that has put it out counts.
   *
   * @throws {Failure} `not_found` naming the first item, in the order of `ids`, that is not stored; `invalid_request` beyond
   *   {@link MAX_ITEM_REFERENCES}; `request_too_large` when the parts of responses that contain them exceed `maxHistoryBytes` or the
   *   parser's limits. Their `param` is `input`.
   */
  async items(
    accountId: AccountId,
    ids: readonly string[],
    parser: BoundedParser = new BoundedParser(),
  ): Promise<ReadonlyMap<string, JsonObject>> {
    const asked = new Set(ids);
    if (asked.size > MAX_ITEM_REFERENCES) {
      throw tooManyReferences(MAX_ITEM_REFERENCES);
    }
    const found = await this.#findItems(accountId, asked, parser);
    for (const id of asked) if (!found.has(id)) throw unknownReference("item", id, this.isStoring);
    return found;
  }

  /**
   * The items that are stored of those with these ids, of the last {@link MAX_ITEM_REFERENCES} of them.
   *
   * @throws {Failure} `request_too_large` as {@link items}.
   */
  storedItems(
    accountId: AccountId,
    ids: readonly string[],
    parser: BoundedParser,
  ): Promise<ReadonlyMap<string, JsonObject>> {
    return this.#findItems(accountId, new Set(ids.slice(-MAX_ITEM_REFERENCES)), parser);
  }

  async #findItems(
    accountId: AccountId,
    asked: ReadonlySet<string>,
    parser: BoundedParser,
  ): Promise<ReadonlyMap<string, JsonObject>> {
    const found = new Map<string, JsonObject>();
    const known = new Map<string, string>();
    for (const id of asked) if (ID.test(id)) known.set(itemDigestOf(accountId, id), id);
    if (known.size === 0 || !this.isStoring) return found;
    for (const source of await this.#sources(accountId, [...known.keys()])) {
      if (source.content === null) throw historyTooLarge("input");
      const part = source.isOutput ? "output" : "input";
      const wanted = new Set(source.digests.map((digest) => known.get(digest)));
      const text = this.#sealed.open(accountId, source.responseId, part, source.content);
      for (const item of text === null ? [] : await parsedItems(text, parser, "input")) {
        if (typeof item.id === "string" && wanted.has(item.id)) found.set(item.id, item);
      }
    }
    return found;
  }

  /** The failure of a request for a response that {@link find} and {@link delete} did not find. */
  unknownResponse(id: string): Failure {
    return unknownResponse(id, this.isStoring);
  }

  /** The chain, oldest response first: one more than the maximum length at most. */
  #chain(accountId: AccountId, id: string): Promise<readonly ChainRow[]> {
    const { database, maxHistoryBytes: maxBytes } = this.#parts;
    return this.#withConnection(
      accountId,
      () => database<ChainRow[]>`
        with recursive chain as (
          select id, previous_id, (octet_length(input) + octet_length(output) - ${2 * SEAL_BYTES})::bigint as bytes, 1 as length
          from responses where account_id = ${accountId} and id = ${id} and ${this.#isCurrent()}
          union all
          select earlier.id, earlier.previous_id,
                 chain.bytes + octet_length(earlier.input) + octet_length(earlier.output) - ${2 * SEAL_BYTES}, chain.length + 1
          from chain join responses earlier on earlier.account_id = ${accountId} and earlier.id = chain.previous_id
          where chain.length <= ${MAX_CHAIN_LENGTH} and chain.bytes <= ${maxBytes} and ${this.#isCurrent()}
        )
        select chain.id, chain.previous_id as "previousId", chain.bytes,
               case when whole.is_readable then responses.input end as input,
               case when whole.is_readable then responses.output end as output
        from chain
          join responses on responses.account_id = ${accountId} and responses.id = chain.id
          cross join (
            select max(bytes) <= ${maxBytes} and max(length) <= ${MAX_CHAIN_LENGTH} as is_readable from chain
          ) whole
        order by chain.length desc`,
    );
  }

  /** The parts of responses in which the items are. */
  #sources(accountId: AccountId, digests: readonly string[]): Promise<readonly SourceRow[]> {
    const { database, maxHistoryBytes } = this.#parts;
    return this.#withConnection(
      accountId,
      () => database<SourceRow[]>`
        with found as (
          select distinct on (id_digest) id_digest, response_id, is_output
          from response_items
            join responses on responses.account_id = response_items.account_id and responses.id = response_id
          where response_items.account_id = ${accountId} and ${this.#isCurrent()}
            and id_digest in (
              select decode(value, 'base64') from jsonb_array_elements_text(${database.json([...digests])})
            )
          order by id_digest, is_output desc, created_at desc
        ), places as (
          select response_id, is_output, jsonb_agg(encode(id_digest, 'base64')) as digests from found group by response_id, is_output
        ), sources as (
          select response_id, is_output, digests, case when is_output then output else input end as content
          from places join responses on account_id = ${accountId} and id = response_id
        )
        select response_id as "responseId", is_output as "isOutput", digests,
               case when (select sum(octet_length(content) - ${SEAL_BYTES}) from sources) <= ${maxHistoryBytes} then content end as content
        from sources`,
    );
  }

  /** Whether a row of `responses` has neither outlived the TTL that it was stored with nor the present one. */
  #isCurrent(): SqlFragment {
    const { database, ttlDays } = this.#parts;
    return database`expires_at > now() and created_at > now() - ${ttlDays} * interval '1 day'`;
  }

  async #withConnection<Result>(accountId: AccountId, work: () => PromiseLike<Result>): Promise<Result> {
    return withAnswerTimeout(async () => {
      const release = await this.#connections.acquire(accountId, ANSWER_TIMEOUT_MS);
      if (typeof release === "string") throw new Unavailable("too many statements on stored responses wait");
      try {
        return await work();
      } finally {
        release();
      }
    });
  }
}

/**
 * Deletes responses that have outlived their TTL or the present one, in batches; with a TTL of 0 all of them. Call it about every
 * hour. Items are deleted with their response.
 */
export async function dropExpiredResponses(database: Database, ttlDays: number): Promise<void> {
  // Uses responses_by_expiry and responses_by_age.
  await deleteInBatches(database, {
    from: "responses",
    where: database`expires_at <= now() or created_at <= now() - ${ttlDays} * interval '1 day'`,
    batchRows: DELETE_BATCH,
  });
}

/** Items are found by digests, in base64: clients choose the ids of theirs, which may contain anything. */
function itemDigestOf(accountId: AccountId, id: string): string {
  return digestTextOf(`${accountId}\n${id}`);
}

/**
 * The items that can be referred to: the last {@link MAX_REFERABLE_ITEMS}, which are the likeliest. An item that the request has sent and
 * the response puts out again is output.
 */
function placesOf(
  accountId: AccountId,
  input: readonly JsonObject[],
  output: readonly JsonObject[],
): { readonly digest: string; readonly is_output: boolean }[] {
  const placed = (items: readonly JsonObject[], isOutput: boolean) =>
    items
      .slice(-MAX_REFERABLE_ITEMS)
      .flatMap(({ id }) => (typeof id === "string" && ID.test(id) ? [[id, isOutput] as const] : []));
  const places = new Map([...placed(input, false), ...placed(output, true)]);
  return [...places].slice(-MAX_REFERABLE_ITEMS).map(([id, isOutput]) => ({
    digest: itemDigestOf(accountId, id),
    is_output: isOutput,
  }));
}

/** Parses the items of a part of a response. @throws {Failure} `request_too_large` beyond the parser's limits. */
async function parsedItems(
  text: string,
  parser: BoundedParser,
  param: ReferenceField,
): Promise<readonly JsonObject[]> {
  const items = await parser.parse(text);
  if (items !== undefined) return items as readonly JsonObject[];
  throw tooManyValues(param);
}
