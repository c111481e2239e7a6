import { useLayoutEffect, useState } from "react";

/** How wide an element is, now and whenever that changes; 0 until it is known. */
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

/** How wide texts are in the writing of an element. */
export function measureIn(element: HTMLElement): (text: string) => number {
  const context = document.createElement("canvas").getContext("2d");
  const { fontFamily, fontSize } = getComputedStyle(element);
  if (context === null) return (text) => text.length * Number.parseFloat(fontSize);
  context.font = `${fontSize} ${fontFamily}`;
  return (text) => context.measureText(text).width;
}
