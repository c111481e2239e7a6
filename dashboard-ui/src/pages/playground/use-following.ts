import { type RefObject, useEffect, useRef } from "react";

/** The maximum distance to the end of the page that counts as the end. */
const NEAR_PX = 64;

/**
 * Keeps the end of the page in view while its content grows, unless the user has scrolled away from the end.
 *
 * @param startsAtEnd whether the page opens at its end.
 * @returns a function that scrolls to the end and resumes following.
 */
export function useFollowing(growing: RefObject<HTMLElement | null>, startsAtEnd: boolean): () => void {
  const isFollowing = useRef(startsAtEnd);

  useEffect(() => {
    let lastTop = document.documentElement.scrollTop;
    const onScroll = () => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      if (scrollHeight - scrollTop - clientHeight < NEAR_PX) isFollowing.current = true;
      // Only scrolling up stops following: the end may also have moved down in the meantime.
      else if (scrollTop < lastTop) isFollowing.current = false;
      lastTop = scrollTop;
    };
    const onGrowth = new ResizeObserver(() => {
      if (isFollowing.current) toTheEnd();
    });
    if (growing.current !== null) onGrowth.observe(growing.current);
    addEventListener("scroll", onScroll, { passive: true });
    return () => {
      removeEventListener("scroll", onScroll);
      onGrowth.disconnect();
    };
  }, [growing]);

  return () => {
    isFollowing.current = true;
    toTheEnd();
  };
}

function toTheEnd(): void {
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}
