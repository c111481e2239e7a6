// The frame of every page: header, sidebar, contents.
import { escapeHtml } from "./html.mjs";

/**
 * @param site.groups of the sidebar
 * @param site.files addresses of style sheet and scripts
 * @param page.address where the page is; `null` for the page that answers unknown addresses
 */
export function pageHtml({ groups, files }, { address, title, description, body, headings = [] }) {
  const contents = headings.filter(({ depth }) => depth === 2 || depth === 3);
  const sidebar = groups.map((group) => groupHtml(group, address)).join("\n");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="description" content="${escapeHtml(description)}">
<title>${escapeHtml(title)} · Ostiary docs</title>
<link rel="icon" href="${files.mark}" type="image/svg+xml">
<link rel="stylesheet" href="${files.style}">
<script src="${files.theme}"></script>
<script type="module" src="${files.script}" data-search="${files.search}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<button type="button" class="button menu" id="menu" aria-expanded="false" aria-controls="sidebar" hidden>Menu</button>
<a class="brand" href="/docs"><img src="${files.mark}" alt="" width="24" height="24">Ostiary <span>Docs</span></a>
<search class="search" id="search" hidden></search>
<nav class="links" aria-label="Site"><a href="/docs/api"${current(address, "/docs/api")}>API</a><a href="/">Dashboard</a></nav>
<button type="button" class="button theme" id="theme" hidden></button>
</header>
<div class="columns${contents.length > 1 ? " with-contents" : ""}">
<nav class="sidebar" id="sidebar" aria-label="Documentation">
${sidebar}
<a class="to-dashboard" href="/">Dashboard</a>
</nav>
<main id="content" tabindex="-1">
<article>
<h1>${escapeHtml(title)}</h1>
${body}</article>
</main>
${contents.length > 1 ? contentsHtml(contents) : ""}</div>
</body>
</html>
`;
}

function groupHtml({ title, pages }, address) {
  const items = pages
    .map(
      (page) =>
        `<li><a href="${page.address}"${current(address, page.address)}>${escapeHtml(page.title)}</a></li>`,
    )
    .join("\n");
  // Long lists that few readers need are folded.
  const isOpen = title !== "Decisions" || pages.some((page) => page.address === address);
  return `<details${isOpen ? " open" : ""}><summary>${escapeHtml(title)}</summary><ul>\n${items}\n</ul></details>`;
}

function current(address, link) {
  return address === link ? ' aria-current="page"' : "";
}

function contentsHtml(contents) {
  const items = contents
    .map(
      ({ id, depth, title }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(title)}</a></li>`,
    )
    .join("\n");
  return `<nav class="contents" aria-labelledby="contents-title">
<p class="contents-title" id="contents-title">On this page</p>
<ul>
${items}
</ul>
</nav>
`;
}
