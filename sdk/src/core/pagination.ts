import { APIPromise } from "./api-promise.ts";
import { notNegative } from "./checks.ts";

/** How many items of a list to fetch. */
export interface ToArrayOptions {
  /** The maximum number of items, which bounds memory and requests. */
  readonly limit: number;
}

/** A page of a list. Iterating yields the items of this page and of all later pages. */
export class Page<Item> implements AsyncIterable<Item> {
  /** The items of the page. */
  readonly data: readonly Item[];
  /** The cursor of the next page; `null` on the last page. */
  readonly nextCursor: string | null;
  /** The `x-request-id` of the answer, for the operator of the service; `null` without one. */
  readonly requestId: string | null;
  readonly #fetchPage: (cursor: string) => Promise<Page<Item>>;

  constructor(
    data: readonly Item[],
    nextCursor: string | null,
    requestId: string | null,
    fetchPage: (cursor: string) => Promise<Page<Item>>,
  ) {
    this.data = data;
    this.nextCursor = nextCursor;
    this.requestId = requestId;
    this.#fetchPage = fetchPage;
  }

  /** Whether there is another page. */
  get hasMore(): boolean {
    return this.nextCursor !== null;
  }

  /** Fetches the next page; `null` after the last. */
  async nextPage(): Promise<Page<Item> | null> {
    return this.nextCursor === null ? null : this.#fetchPage(this.nextCursor);
  }

  /** The items of this page and of later pages, up to a limit. @throws {OstiaryError} the limit is not valid. */
  async toArray(options: ToArrayOptions): Promise<Item[]> {
    // JavaScript does not prevent a call without options.
    const limit = notNegative("limit", (options as ToArrayOptions | undefined)?.limit ?? Number.NaN);
    const all: Item[] = [];
    if (limit === 0) return all;
    for await (const item of this) {
      all.push(item);
      if (all.length >= limit) break;
    }
    return all;
  }

  /** Iterates over the items of this page and of all later pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for (let page: Page<Item> | null = this; page !== null; page = await page.nextPage()) yield* page.data;
  }
}

/** A list that is being fetched: await it for its first page, or iterate over all of its items. */
export class PagePromise<Item> extends Promise<Page<Item>> implements AsyncIterable<Item> {
  /** `then` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** The items of all pages, up to a limit. @throws {OstiaryError} the limit is not valid. */
  async toArray(options: ToArrayOptions): Promise<Item[]> {
    return (await this).toArray(options);
  }

  /** Iterates over the items of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    yield* await this;
  }
}

/** A list under `/v1` that is being fetched, with the HTTP response of its first page. */
export class APIPagePromise<Item> extends APIPromise<Page<Item>> implements AsyncIterable<Item> {
  /** The items of all pages, up to a limit. @throws {OstiaryError} the limit is not valid. */
  async toArray(options: ToArrayOptions): Promise<Item[]> {
    return (await this).toArray(options);
  }

  /** Iterates over the items of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    yield* await this;
  }
}
