import { useLocation } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

/**
 * Moves the focus to a new page after navigation. The followed link may be gone, and screen readers would not announce the
 * new page. A page that has already set the focus keeps it.
 */
export function useFocusOnArrival(): void {
  const { pathname } = useLocation();
  const arrivedAt = useRef(pathname);
  useEffect(() => {
    if (arrivedAt.current === pathname) return;
    arrivedAt.current = pathname;
    const main = document.getElementById("main");
    if (main !== null && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }, [pathname]);
}
