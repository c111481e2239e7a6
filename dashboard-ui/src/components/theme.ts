import { browserStore } from "./storage.ts";

export type Theme = "system" | "light" | "dark";

const STORED_AS = "theme";

/** The chosen theme, also where the browser stores nothing. */
let chosen = storedTheme();

function storedTheme(): Theme {
  const stored = browserStore.read(STORED_AS);
  return stored === "light" || stored === "dark" ? stored : "system";
}

/** The theme chosen in this browser. It changes with `themechange`. */
export function readTheme(): Theme {
  return chosen;
}

/** Calls the listener when the theme changes. @returns a function that ends it. */
export function onThemeChange(listener: () => void): () => void {
  addEventListener("themechange", listener);
  return () => removeEventListener("themechange", listener);
}

/** Stores the theme and applies it. */
export function chooseTheme(theme: Theme): void {
  browserStore.write(STORED_AS, theme === "system" ? null : theme);
  applyTheme(theme);
}

/** Applies the chosen theme, and from then on what is chosen in other tabs. */
export function followTheme(): void {
  applyTheme(chosen);
  addEventListener("storage", ({ key }) => {
    if (key === STORED_AS) applyTheme(storedTheme());
  });
}

/** Sets the attribute that `tokens.css` reads, and dispatches `themechange` to redraw canvases. */
function applyTheme(theme: Theme): void {
  chosen = theme;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
}
