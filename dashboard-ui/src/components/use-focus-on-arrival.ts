import { useLocation } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

/**
 * Leads the keyboard, and who listens, to the page that a link has led to: the link may be gone, and nothing would say that
 * there is another page now. A page that has put the focus somewhere keeps it.
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
