/** As much of a section is searched, which bounds what a search downloads. */
const MAX_TEXT = 1_500;

/** What the search looks through: for each section its address, the titles of page and section, and its text. */
export function searchIndex(pages) {
  return pages.flatMap(({ address, title, sections }) =>
    sections
      .filter(({ title: heading, text }) => heading !== "" || text !== "")
      .map((section) => ({
        href: section.id === "" ? address : `${address}#${section.id}`,
        page: title,
        section: section.title,
        text: section.text.replace(/\s+/g, " ").trim().slice(0, MAX_TEXT),
      })),
  );
}
