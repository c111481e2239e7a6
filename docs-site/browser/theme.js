// Applies the theme that the dashboard stores in this browser, before anything is drawn.
document.documentElement.dataset.script = "";
try {
  if (["light", "dark"].includes(localStorage.theme)) {
    document.documentElement.dataset.theme = localStorage.theme;
  }
} catch {
  // Storage is forbidden: the system's preference holds.
}
