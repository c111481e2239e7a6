import { useEffect, useState } from "react";
import { startOf } from "./period.ts";

/** The start of the current hour. Queries change with it instead of with every render. */
export function useCurrentHour(): Date {
  const [hour, setHour] = useState(() => startOf(new Date(), "hour", 0));
  useEffect(() => {
    const timer = setTimeout(
      () => setHour(startOf(new Date(), "hour", 0)),
      startOf(hour, "hour", 1).getTime() - Date.now(),
    );
    return () => clearTimeout(timer);
  }, [hour]);
  return hour;
}
