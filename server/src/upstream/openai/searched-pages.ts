import type { Citation } from "../../conversation/answer.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";

/** The maximum number of pages, and of places that refer to them. A model that searches reads some dozens. */
const MAX_PAGES = 1_000;
/** The maximum length of an address and of a title. A text may refer to a page many times, and each time the client gets both. */
const MAX_LENGTH = 8_192;
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
 * The pages that a model has searched, beside its message: `search_results` or `citations`, as Perplexity and xAI have them. The text refers to them
 * by their numbers: `[1]`.
 */
export class SearchedPages {
  /** `null`: a page that is not readable, which keeps its number. */
  #pages: readonly (Page | null)[] = [];
  readonly #markers: Marker[] = [];
  /** The characters of the text so far without {@link #open}. */
  #length = 0;
  /** What may begin a reference whose end is in the next piece. */
  #open = "";

  /** Reads the pages of an answer, or of a chunk of one, which repeats those before it. */
  addPages({ citations, search_results: results }: JsonObject): void {
    const list = [results, citations].find((one) => Array.isArray(one) && one.length > 0);
    if (Array.isArray(list)) this.#pages = list.slice(0, MAX_PAGES).map(pageOf);
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
      return found === undefined || found === null ? [] : [{ ...found, start, end }];
    });
    if (cited.length > 0) return cited;
    return this.#pages.flatMap((page) => (page === null ? [] : [{ ...page, start: 0, end: 0 }]));
  }
}

function pageOf(page: Json): Page | null {
  const { url, title } = isJsonObject(page) ? page : { url: page };
  if (typeof url !== "string" || url.length > MAX_LENGTH) return null;
  return { url, title: typeof title === "string" ? title.slice(0, MAX_LENGTH) : "" };
}
