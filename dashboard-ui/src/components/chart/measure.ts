import { useLayoutEffect, useState } from "react";

/** The current width of an element; 0 until it is measured. */
export function useWidth(place: { readonly current: HTMLElement | null }): number {
  const [widthPx, setWidthPx] = useState(0);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    const measure = () => setWidthPx(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [place]);
  return widthPx;
}

/** Returns a function that measures texts in an element's font. */
export function measureIn(element: HTMLElement): (text: string) => number {
  const context = document.createElement("canvas").getContext("2d");
  const { fontFamily, fontSize } = getComputedStyle(element);
  if (context === null) return (text) => text.length * Number.parseFloat(fontSize);
  context.font = `${fontSize} ${fontFamily}`;
  return (text) => context.measureText(text).width;
}
