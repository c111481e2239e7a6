// What pages of the documentation do besides being read: copy code, switch themes, search, open the menu on phones.
import { addSearch } from "./search.js";

/** The address that examples of the API reference were built with. */
const EXAMPLE_URL = "http://127.0.0.1:8080";

if (location.pathname.startsWith("/docs/api")) useOwnAddress();
for (const block of document.querySelectorAll("figure.code")) block.append(copyButton(block));
addThemeButton(document.getElementById("theme"));
addMenu(document.getElementById("menu"), document.getElementById("sidebar"));
addSearch(document.getElementById("search"), document.querySelector("script[data-search]").dataset.search);
document.querySelector('.sidebar [aria-current="page"]')?.scrollIntoView({ block: "nearest" });
markSection();

function useOwnAddress() {
  for (const code of document.querySelectorAll("figure.code code")) {
    if (code.textContent.includes(EXAMPLE_URL)) {
      code.textContent = code.textContent.replaceAll(EXAMPLE_URL, location.origin);
    }
  }
}

function copyButton(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    button.textContent = (await copied(block.querySelector("code").textContent)) ? "Copied" : "Not copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2_000);
  });
  return button;
}

/** Copies a text. Resolves to whether the browser has allowed it. */
async function copied(text) {
  // Pages that were loaded over HTTP from another machine have no clipboard, but the command.
  if (navigator.clipboard === undefined) return copiedByCommand(text.trimEnd());
  try {
    await navigator.clipboard.writeText(text.trimEnd());
    return true;
  } catch {
    return copiedByCommand(text.trimEnd());
  }
}

/** Puts the text in the place of what the browser's command would copy: the selection. */
function copiedByCommand(text) {
  const onCopy = (event) => {
    event.preventDefault();
    event.clipboardData.setData("text/plain", text);
  };
  document.addEventListener("copy", onCopy, { capture: true });
  const isDone = document.execCommand("copy");
  document.removeEventListener("copy", onCopy, { capture: true });
  return isDone;
}

/** The button switches to the theme that it names, which the dashboard uses as well. */
function addThemeButton(button) {
  const root = document.documentElement;
  const isDark = () =>
    (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) ===
    "dark";
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.ariaLabel = `${button.textContent} theme`;
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.theme = root.dataset.theme;
    } catch {
      // Storage is forbidden: the choice lasts for this page.
    }
    name();
  });
  name();
  button.hidden = false;
}

function addMenu(button, sidebar) {
  button.addEventListener("click", () => {
    const isOpen = sidebar.classList.toggle("open");
    button.setAttribute("aria-expanded", String(isOpen));
  });
  button.hidden = false;
}

/** Marks the section that is being read in the contents. */
function markSection() {
  const links = new Map(
    [...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]),
  );
  const observer = new IntersectionObserver(
    (entries) => {
      const seen = entries.find(({ isIntersecting }) => isIntersecting);
      if (seen === undefined) return;
      for (const [id, link] of links) {
        if (id === seen.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-64px 0px -70% 0px" },
  );
  for (const id of links.keys()) observer.observe(document.getElementById(id));
}
