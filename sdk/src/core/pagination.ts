/** A page of a list. Iterating goes through this page's items and those of all pages after it. */
export class Page<Item> implements AsyncIterable<Item> {
  readonly data: readonly Item[];
  /** Where the next page begins; `null` on the last. */
  readonly nextCursor: string | null;
  /** Quote it to the operator of the service. */
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

  get hasMore(): boolean {
    return this.nextCursor !== null;
  }

  /** The page after this one; `null` behind the last. */
  async nextPage(): Promise<Page<Item> | null> {
    return this.nextCursor === null ? null : this.#fetchPage(this.nextCursor);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for (let page: Page<Item> | null = this; page !== null; page = await page.nextPage()) yield* page.data;
  }
}

/** A list that is being fetched: await it for its first page, or iterate over all of its items. */
export class PagePromise<Item> extends Promise<Page<Item>> implements AsyncIterable<Item> {
  /** What `then` makes of it is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    yield* await this;
  }
}
