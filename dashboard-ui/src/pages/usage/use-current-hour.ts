import { useEffect, useState } from "react";
import { startOf } from "./period.ts";

/** When the present hour began: what is asked of the service changes with it, not with every rendering. */
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
