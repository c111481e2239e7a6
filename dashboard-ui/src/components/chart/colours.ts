import { useEffect, useState } from "react";

/** How many series have a colour of their own. */
export const MAX_COLOURS = 6;

/** The style variable that holds a series' colour. */
export function seriesColour(index: number, isOther = false): string {
  return isOther || index >= MAX_COLOURS ? "var(--chart-rest)" : `var(--chart-${index + 1})`;
}

/** A colour of the styles as a canvas understands it: without variables, and in the theme that is on. */
function resolveColour(element: HTMLElement, colour: string): string {
  const probe = document.createElement("span");
  probe.style.color = colour;
  element.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}

type ResolveColour = typeof resolveColour;

/** {@link resolveColour}, another one for each theme: what is drawn on a canvas does not take its new colours by itself. */
export function useColours(): ResolveColour {
  const [resolve, setResolve] = useState<ResolveColour>(() => resolveColour);
  useEffect(() => {
    const notice = () => setResolve((): ResolveColour => (element, colour) => resolveColour(element, colour));
    const isDark = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("themechange", notice);
    isDark.addEventListener("change", notice);
    return () => {
      removeEventListener("themechange", notice);
      isDark.removeEventListener("change", notice);
    };
  }, []);
  return resolve;
}
