// The documents that the site shows, and where each of them is.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

/** What /docs/api shows. A link to it leads there. */
export const OPENAPI = "docs/reference/openapi.json";
const INDEX = "docs/README.md";

/** The groups of the sidebar by folder, in their order. Folders that are not here follow, under their own names. */
const GROUPS = new Map([
  ["docs/tutorials", "Tutorials"],
  ["docs/how-to", "How-to guides"],
  ["docs/reference", "Reference"],
  ["sdk", "SDK"],
  ["sdk/examples", "SDK"],
  ["docs/explanation", "Explanation"],
  ["docs/explanation/decisions", "Decisions"],
]);

/**
 * A document of the repository.
 *
 * @typedef {object} Document
 * @property {string} path in the repository
 * @property {string} address of its page, like `/docs/how-to/add-a-model`
 * @property {string} title its first heading
 * @property {string} markdown what follows the first heading
 */

/** Reads every document of `docs/`, and the SDK's. */
export function readDocuments(root) {
  const below = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => posix.join("docs", ...name.split(/[\\/]/)))
    .sort();
  return [...below, "sdk/README.md", "sdk/examples/README.md"].map((path) => {
    const text = readFileSync(join(root, path), "utf8");
    const [heading = "", title = path] = /^# (.*)\n/.exec(text) ?? [];
    return {
      path,
      address: addressOf(path),
      title: title.replaceAll("`", ""),
      markdown: text.slice(heading.length),
    };
  });
}

function addressOf(path) {
  const name = path
    .replace(/^docs\//, "")
    .replace(/\.md$/, "")
    .replace(/(^|\/)README$/, "");
  return name === "" ? "/docs" : `/docs/${name}`;
}

/** The groups of the sidebar. Documents that docs/README.md links to are in its order, and others follow by name. */
export function groupsOf(documents) {
  const index = documents.find(({ path }) => path === INDEX);
  const linked = [...index.markdown.matchAll(/\]\(([^)#]+)/g)].map(([, to]) => posix.join("docs", to));
  const rank = ({ path }) => (linked.includes(path) ? linked.indexOf(path) : linked.length);
  const groups = new Map([...GROUPS.values()].map((title) => [title, []]));
  for (const document of documents.filter((each) => each !== index).sort((a, b) => rank(a) - rank(b))) {
    const folder = dirname(document.path);
    const title = GROUPS.get(folder) ?? folder.replace(/^docs\//, "");
    groups.set(title, [...(groups.get(title) ?? []), document]);
  }
  return [...groups].map(([title, pages]) => ({ title, pages }));
}

/**
 * Resolves a link of a document.
 *
 * @returns the address in the site, `file` where a file of `docs/` has to be served for it; or `null` for what is no part of the site,
 *   such as a source file.
 */
export function resolveLink(root, documents, from, href) {
  if (/^[a-z]+:/i.test(href)) return { href };
  const [target = "", anchor] = href.split("#");
  const hash = anchor === undefined ? "" : `#${anchor}`;
  if (target === "") return { href: hash };
  const path = posix.join(dirname(from.path), target).replace(/\/$/, "");
  if (path === OPENAPI) return { href: "/docs/api" };
  const found = documents.find((each) => each.path === path);
  if (found !== undefined) return { href: found.address + hash };
  // A folder: its first document stands for it, as the sidebar lists the others beside it.
  const first = documents.find((each) => dirname(each.path) === path);
  if (first !== undefined) return { href: first.address };
  if (path.startsWith("docs/") && existsSync(join(root, path))) return { href: `/${path}`, file: path };
  return null;
}
