import { browserStore } from "./storage.ts";

export type Theme = "system" | "light" | "dark";

const STORED_AS = "theme";

/** The theme chosen in this browser. */
export function readTheme(): Theme {
  const stored = browserStore.read(STORED_AS);
  return stored === "light" || stored === "dark" ? stored : "system";
}

/** Stores the theme and applies it. */
export function chooseTheme(theme: Theme): void {
  browserStore.write(STORED_AS, theme === "system" ? null : theme);
  applyTheme(theme);
}

/** Sets the attribute that `tokens.css` reads, and dispatches `themechange` to redraw canvases. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
}
