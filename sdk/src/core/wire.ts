/** A request as it goes out, the same for every attempt. */
export interface WireRequest {
  readonly url: string;
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** An answer that has begun, whatever sent its request. Its body is read once, in one of the ways. */
export interface WireAnswer {
  readonly status: number;
  /** 200 to 299. */
  readonly ok: boolean;
  /** A header's value. `name` in lower case. */
  header(name: string): string | null;
  readonly headers: Headers;
  /** `null` where there is none. */
  readonly body: Response["body"];
  text(): Promise<string>;
  /** Lets go of a body that nobody wants. */
  discard(): void;
  /** The same as a standard response. */
  toResponse(): Response;
}

/** Sends a request, and resolves when its answer has begun. Rejects when none came, or when `signal` was aborted. */
export type Send = (request: WireRequest, signal: AbortSignal) => Promise<WireAnswer>;

/** By a `fetch`. */
export async function sendByFetch(
  fetch: typeof globalThis.fetch,
  { url, ...init }: WireRequest,
  signal: AbortSignal,
): Promise<WireAnswer> {
  // Followed, a redirect could take prompts to somebody else, or a POST become a GET. "error" is unknown to some workers.
  return new FetchAnswer(await fetch(url, { ...init, redirect: "manual", signal }));
}

class FetchAnswer implements WireAnswer {
  readonly #response: Response;

  constructor(response: Response) {
    this.#response = response;
  }

  get status(): number {
    return this.#response.status;
  }

  get ok(): boolean {
    return this.#response.ok;
  }

  header(name: string): string | null {
    return this.#response.headers.get(name);
  }

  get headers(): Headers {
    return this.#response.headers;
  }

  get body(): Response["body"] {
    return this.#response.body;
  }

  text(): Promise<string> {
    return this.#response.text();
  }

  discard(): void {
    // Not awaited: what clones answers may hold the body open.
    this.#response.body?.cancel().catch(() => {});
  }

  toResponse(): Response {
    return this.#response;
  }
}
