// The search: over titles and texts of sections, which are loaded when it is first used.

const MAX_RESULTS = 12;
/** What a word counts for, by where it is found. */
const WEIGHTS = { page: 6, section: 8, text: 1 };
/** What the words count for where they stand beside each other, as they were typed. */
const PHRASE_WEIGHT = 6;
/** The part of its weight that a word counts for in another form, as `streaming` for `stream`. */
const OTHER_FORM = 0.5;
/** The part of its weight that a word counts for within another one. */
const WITHIN_WORD = 0.1;
const ENDING = /(?:ing|ies|ed|es|s|e|y)$/;
const MIN_STEM_LETTERS = 4;
const EXCERPT_CHARACTERS = 110;
const LOAD_TIMEOUT_MS = 15_000;

/** Adds the field and the list of what it finds. `/` goes to the field. */
export function addSearch(place, address) {
  const field = Object.assign(document.createElement("input"), {
    type: "search",
    placeholder: "Search",
    autocomplete: "off",
    ariaLabel: "Search the documentation",
  });
  const status = Object.assign(document.createElement("p"), { className: "status", role: "status" });
  const list = Object.assign(document.createElement("ul"), { className: "results" });
  const popup = Object.assign(document.createElement("div"), { className: "found", hidden: true });
  popup.append(status, list);
  place.append(field, popup);
  place.hidden = false;

  const show = async () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    popup.hidden = words.length === 0;
    if (words.length === 0) return;
    if (!isLoaded) status.textContent = "Loading…";
    const found = await find(address, words);
    if (found === null) {
      status.textContent = "The search could not be loaded. Try again.";
      list.replaceChildren();
      return;
    }
    status.textContent = found.length === 0 ? "Nothing found" : `${found.length} found`;
    list.replaceChildren(...found.slice(0, MAX_RESULTS).map((entry) => resultItem(entry, words)));
  };
  field.addEventListener("input", show);
  field.addEventListener("focus", show);
  place.addEventListener("keydown", (event) => moveByKey(event, field, popup));
  document.addEventListener("click", ({ target }) => {
    if (!place.contains(target) || target.closest("a") !== null) popup.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea") !== null) return;
    event.preventDefault();
    field.focus();
  });
}

let loading = null;
let isLoaded = false;

/** Sections with all words, best first; `null` when the index cannot be loaded. */
async function find(address, words) {
  loading ??= load(address);
  const sections = await loading;
  if (sections === null) {
    loading = null;
    return null;
  }
  isLoaded = true;
  return sections
    .map((section) => ({ ...section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
}

async function load(address) {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(LOAD_TIMEOUT_MS) });
    return response.ok ? (await response.json()).map(searchable) : null;
  } catch {
    return null;
  }
}

/** A section with its texts as words, each after a space. */
function searchable(section) {
  // The beginning of a page has no title of its own: the page's counts for both.
  const texts = { ...section, section: section.section || section.page };
  return {
    ...section,
    words: Object.fromEntries(Object.keys(WEIGHTS).map((name) => [name, wordsOf(texts[name])])),
  };
}

function wordsOf(text) {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()}`;
}

function scoreOf({ words: texts }, typed) {
  const words = wordsOf(typed.join(" ")).split(" ").filter(Boolean);
  if (words.length === 0) return 0;
  const scores = words.map((word) =>
    Object.entries(WEIGHTS).reduce((sum, [name, weight]) => sum + weight * matchOf(texts[name], word), 0),
  );
  if (scores.includes(0)) return 0;
  const phrase = ` ${words.join(" ")}`;
  const isPhrase = words.length > 1 && Object.values(texts).some((text) => text.includes(phrase));
  return scores.reduce((sum, score) => sum + score, isPhrase ? PHRASE_WEIGHT : 0);
}

/** What is found within a word, as `base` in `database`, counts for little. */
function matchOf(text, word) {
  if (text.includes(` ${word}`)) return 1;
  if (text.includes(` ${stemOf(word)}`)) return OTHER_FORM;
  return text.includes(word) ? WITHIN_WORD : 0;
}

/** A word without its ending: what its other forms begin with, too. */
function stemOf(word) {
  const stem = word.replace(ENDING, "");
  return stem.length < MIN_STEM_LETTERS ? word : stem;
}

function resultItem({ href, page, section, text }, words) {
  const link = Object.assign(document.createElement("a"), { href });
  const title = document.createElement("strong");
  title.textContent = section === "" ? page : section;
  const place = document.createElement("span");
  place.textContent = section === "" ? "" : page;
  const excerpt = document.createElement("small");
  excerpt.textContent = excerptOf(text, words);
  link.append(title, place, excerpt);
  const item = document.createElement("li");
  item.append(link);
  return item;
}

function excerptOf(text, words) {
  const lower = text.toLowerCase();
  const found = words
    .map((word) => (lower.includes(word) ? lower.indexOf(word) : lower.indexOf(stemOf(word))))
    .filter((index) => index >= 0);
  const start = Math.max(0, Math.min(...(found.length === 0 ? [0] : found)) - EXCERPT_CHARACTERS / 3);
  const excerpt = text.slice(start, start + EXCERPT_CHARACTERS);
  return `${start > 0 ? "…" : ""}${excerpt}${start + EXCERPT_CHARACTERS < text.length ? "…" : ""}`;
}

/** The arrows move through the results, Enter in the field follows the first, and Escape closes. */
function moveByKey(event, field, popup) {
  const links = [...popup.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "Escape") {
    field.focus();
    popup.hidden = true;
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    (links[next] ?? field).focus();
  } else if (event.key === "Enter" && document.activeElement === field) {
    links[0]?.click();
  }
}
