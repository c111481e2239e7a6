import { useEffect, useState } from "react";

/** The number of series with a colour of their own. */
export const MAX_COLOURS = 6;

/** The place of a series' colour. Errors that are one series have the colour that they have everywhere. */
export type SeriesPlace = number | "errors";

/** The style variable that holds a series' colour. */
export function seriesColour(index: SeriesPlace, isOther = false): string {
  if (index === "errors") return "var(--danger)";
  return isOther || index >= MAX_COLOURS ? "var(--chart-rest)" : `var(--chart-${index + 1})`;
}

/** Resolves a style's colour for a canvas: without variables, in the current theme. */
function resolveColour(element: HTMLElement, colour: string): string {
  const probe = document.createElement("span");
  probe.style.color = colour;
  element.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}

type ResolveColour = typeof resolveColour;

/** A {@link resolveColour} that changes with the theme, because a canvas does not redraw by itself. */
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
