/** The focus, to the page as a whole: what was pressed is gone, and the keyboard must not lose its place with it. */
export function focusPage(): void {
  document.getElementById("main")?.focus({ preventScroll: true });
}
