import type { Citation } from "../../conversation/answer.ts";
import { type JsonObject, objectsIn } from "../../json/json.ts";

/** The maximum number of pages, and of places that refer to them. A model that searches reads some dozens. */
const MAX_PAGES = 1_000;
/** A text's reference to a page by its number, and the beginning of one at the end of a piece. */
const MARKER = /\[(?<number>[1-9]\d{0,3})\]/g;
const OPEN_MARKER = /\[(?:[1-9]\d{0,3})?$/;

interface Page {
  readonly url: string;
  readonly title: string;
}

interface Marker {
  readonly page: number;
  readonly start: number;
  readonly end: number;
}

/**
 * The pages that a model has searched, beside its message: `search_results` or `citations`, as Perplexity and xAI have them. The text refers to them by their
 * numbers: `[1]`.
 */
export class SearchedPages {
  #pages: readonly Page[] = [];
  readonly #markers: Marker[] = [];
  /** The characters of the text so far without {@link #open}. */
  #length = 0;
  /** What may begin a reference whose end is in the next piece. */
  #open = "";

  /** Reads the pages of an answer, or of a chunk of one, which repeats those before it. */
  addPages({ citations, search_results: results }: JsonObject): void {
    const found = objectsIn(results).flatMap(({ url, title }) =>
      typeof url === "string" ? [{ url, title: typeof title === "string" ? title : "" }] : [],
    );
    const urls = Array.isArray(citations) ? citations.filter((url) => typeof url === "string") : [];
    const pages = found.length > 0 ? found : urls.map((url) => ({ url, title: "" }));
    if (pages.length > 0) this.#pages = pages.slice(0, MAX_PAGES);
  }

  addText(text: string): void {
    const whole = this.#open + text;
    const from = this.#length;
    if (whole.includes("[")) {
      for (const match of whole.matchAll(MARKER)) {
        if (this.#markers.length === MAX_PAGES) break;
        const start = from + match.index;
        this.#markers.push({
          page: Number(match.groups?.number) - 1,
          start,
          end: start + match[0].length,
        });
      }
    }
    this.#open = OPEN_MARKER.exec(whole)?.[0] ?? "";
    this.#length = from + whole.length - this.#open.length;
  }

  /** The places of the text that refer to pages. If it refers to none, all pages, without a place. */
  get citations(): readonly Citation[] {
    const cited = this.#markers.flatMap(({ page, start, end }) => {
      const found = this.#pages[page];
      return found === undefined ? [] : [{ ...found, start, end }];
    });
    return cited.length > 0 ? cited : this.#pages.map((page) => ({ ...page, start: 0, end: 0 }));
  }
}
