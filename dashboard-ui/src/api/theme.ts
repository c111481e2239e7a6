export type Theme = "system" | "light" | "dark";

const KEPT_AS = "theme";

/** What was chosen in this browser. */
export function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEPT_AS);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    // Storage may be forbidden: then the system decides.
    return "system";
  }
}

export function chooseTheme(theme: Theme): void {
  try {
    if (theme === "system") localStorage.removeItem(KEPT_AS);
    else localStorage.setItem(KEPT_AS, theme);
  } catch {
    // It holds until the page is left.
  }
  applyTheme(theme);
}

/** The styles ask the root element: see `tokens.css`. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
}
