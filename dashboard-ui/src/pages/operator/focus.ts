/** Focuses the page when the pressed control is gone, so that the keyboard keeps a position. */
export function focusPage(): void {
  document.getElementById("main")?.focus({ preventScroll: true });
}
