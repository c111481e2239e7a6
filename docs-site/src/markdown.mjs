// Documents as markup.
import { Marked } from "marked";
import { anchorOf, cellCode, codeBlock, escapeHtml, heading, scrolling } from "./html.mjs";

/**
 * Renders Markdown.
 *
 * @param resolve what a link leads to; `null`: its text stands alone.
 * @returns the markup, the headings of the second and third level, and the text of each section for the search.
 */
export function renderMarkdown(markdown, resolve) {
  const headings = [];
  const sections = [{ id: "", title: "", text: "" }];
  const taken = new Map();
  let section = "this page";
  let isInTable = false;
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text }) {
        const id = unique(taken, anchorOf(text));
        const plain = plainText(tokens);
        section = plain;
        if (depth <= 3) headings.push({ id, depth, title: plain });
        sections.push({ id, title: plain, text: "" });
        return heading(depth, id, this.parser.parseInline(tokens));
      },
      link({ href, tokens }) {
        const markup = this.parser.parseInline(tokens);
        const to = resolve(href);
        return to === null ? markup : `<a href="${escapeHtml(to)}">${markup}</a>`;
      },
      code({ text, lang }) {
        sections.at(-1).text += ` ${text}`;
        return codeBlock(text, lang ?? "");
      },
      table(token) {
        const cell = (tag, { tokens, align }) =>
          `<${tag}${tag === "th" ? ' scope="col"' : ""}${align === "right" ? ' class="figure"' : ""}>${this.parser.parseInline(tokens)}</${tag}>`;
        const row = (tag, cells) => `<tr>${cells.map((each) => cell(tag, each)).join("")}</tr>`;
        for (const each of [token.header, ...token.rows].flat())
          sections.at(-1).text += ` ${plainText(each.tokens)}`;
        isInTable = true;
        const body = token.rows.map((cells) => row("td", cells)).join("\n");
        const head = `<thead>${row("th", token.header)}</thead>`;
        isInTable = false;
        return scrolling(`<table>${head}<tbody>${body}</tbody></table>`, `Table of ${section}`);
      },
      codespan: ({ text }) => (isInTable ? cellCode(text) : `<code>${escapeHtml(text)}</code>`),
      paragraph({ tokens }) {
        sections.at(-1).text += ` ${plainText(tokens)}`;
        return `<p>${this.parser.parseInline(tokens)}</p>\n`;
      },
      listitem(item) {
        sections.at(-1).text += ` ${plainText(item.tokens)}`;
        return `<li>${this.parser.parse(item.tokens)}</li>\n`;
      },
      // No document has markup of its own.
      html: ({ text }) => escapeHtml(text),
    },
  });
  return { html: marked.parse(markdown), headings, sections };
}

function unique(taken, id) {
  const count = taken.get(id) ?? 0;
  taken.set(id, count + 1);
  return count === 0 ? id : `${id}-${count}`;
}

/** What a reader sees of inline tokens. Code and tables of a list add theirs themselves. */
function plainText(tokens) {
  return tokens
    .filter(({ type }) => type !== "code" && type !== "table" && type !== "list")
    .map((token) => (token.tokens === undefined ? (token.text ?? "") : plainText(token.tokens)))
    .join("")
    .replace(/\s+/g, " ");
}
