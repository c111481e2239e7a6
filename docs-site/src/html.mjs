const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text as it is written in markup, between tags and in attributes. */
export function escapeHtml(text) {
  return String(text).replace(/[&<>"]/g, (character) => ENTITIES[character]);
}

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}

/** A block of code. `docs.js` adds the button that copies it. */
export function codeBlock(code, language, label = "Code") {
  const name = language === "" ? label : `${label}: ${language}`;
  return `<figure class="code"><pre tabindex="0" role="group" aria-label="${escapeHtml(name)}"><code>${escapeHtml(code)}</code></pre></figure>\n`;
}

/** A heading with a link to itself. */
export function heading(level, id, markup) {
  return `<h${level} id="${id}">${markup}<a class="anchor" href="#${id}" aria-label="Link to this section">#</a></h${level}>\n`;
}

/** Code in the cell of a table, which may break after the words of a long name. */
export function cellCode(code) {
  return `<code>${escapeHtml(code).replace(/[_/.=](?=[\p{L}{])/gu, "$&<wbr>")}</code>`;
}

/** A table that scrolls sideways where it is wider than the page. */
export function scrolling(table, label) {
  return `<div class="scrolling" tabindex="0" role="group" aria-label="${escapeHtml(label)}">${table}</div>\n`;
}
