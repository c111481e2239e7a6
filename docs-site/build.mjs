// Builds docs-site/dist, which the server serves at `/docs`: a static page for each document and each group of operations.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { compressFolder } from "../scripts/compress.mjs";
import { apiPages } from "./src/api.mjs";
import { groupsOf, OPENAPI, readDocuments, resolveLink } from "./src/documents.mjs";
import { renderMarkdown } from "./src/markdown.mjs";
import { pageHtml } from "./src/page.mjs";
import { searchIndex } from "./src/search-index.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "..");
const dist = join(here, "dist");
/** Many small files: a build should take no longer than reading its output. */
const COMPRESSION = 9;

rmSync(dist, { recursive: true, force: true });
const documents = readDocuments(root);
const api = apiPages(JSON.parse(readFileSync(join(root, OPENAPI), "utf8")));
const pages = [...documents.map(documentPage), ...api];
const files = await assets(pages);
// If esbuild is still running when this process ends, it may print that it is in a deadlock.
await stop();
const site = { groups: groups(), files };
for (const page of pages)
  write(`${page.address}.html`, pageHtml(site, { ...page, description: descriptionOf(page) }));
write("/docs/404.html", pageHtml(site, missingPage()));
await compressFolder(dist, COMPRESSION);

function documentPage(document) {
  const resolve = (href) => {
    const link = resolveLink(root, documents, document, href);
    if (link?.file !== undefined) copy(link.file);
    return link?.href ?? null;
  };
  const { html, headings, sections } = renderMarkdown(document.markdown, resolve);
  return { ...document, body: html, headings, sections };
}

/** What search engines and links show of a page: the beginning of its first text. */
function descriptionOf({ title, sections }) {
  const first = sections.find(({ text }) => text !== "")?.text ?? title;
  return first.trim().slice(0, 160);
}

/** The sidebar: the API reference stands before the documents of the reference. */
function groups() {
  const ofDocuments = groupsOf(documents);
  const reference = ofDocuments.findIndex(({ title }) => title === "Reference");
  const ofApi = {
    title: "API reference",
    pages: api.map(({ address, title, short }) => ({ address, title: short ?? title })),
  };
  return ofDocuments.toSpliced(reference, 0, ofApi);
}

/** Writes what the pages load, under names that change with the content. */
async function assets(searched) {
  const { metafile } = await build({
    entryPoints: ["docs.css", "docs.js", "theme.js"].map((name) => join(here, "browser", name)),
    outdir: join(dist, "docs/assets"),
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    loader: { ".woff2": "file", ".svg": "file" },
    metafile: true,
    logLevel: "warning",
  });
  const made = Object.keys(metafile.outputs).map((path) => `/docs/assets/${basename(path)}`);
  const named = (name, extension) =>
    made.find((path) => path.startsWith(`/docs/assets/${name}-`) && path.endsWith(extension));
  write("/docs/search.json", JSON.stringify(searchIndex(searched)));
  return {
    style: named("docs", ".css"),
    script: named("docs", ".js"),
    theme: named("theme", ".js"),
    mark: copyMark(),
    search: "/docs/search.json",
  };
}

function copyMark() {
  cpSync(join(root, "dashboard-ui/src/styles/mark.svg"), join(dist, "docs/mark.svg"));
  return "/docs/mark.svg";
}

function missingPage() {
  return {
    address: null,
    title: "Page not found",
    description: "There is no such page in the documentation.",
    body: '<p>There is no such page. Search, or start from <a href="/docs">the documentation</a>.</p>\n',
  };
}

function copy(path) {
  write(`/${path}`, readFileSync(join(root, path)));
}

/** Writes a file to where the server finds it: `/docs` is `docs/index.html`. */
function write(address, content) {
  const file = join(dist, address === "/docs.html" ? "/docs/index.html" : address);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
