import { lazy, Suspense, useEffect, useState } from "react";
import { onToast, type ToastMessage } from "./toast.ts";

/** Loaded with the first message. */
const ToastList = lazy(() => import("./ToastList.tsx").then((module) => ({ default: module.ToastList })));

/** The place of toasts, in the corner of the window. */
export function Toasts() {
  const [first, setFirst] = useState<readonly ToastMessage[]>([]);
  useEffect(() => onToast((message) => setFirst((before) => [...before, message])), []);
  if (first.length === 0) return null;
  return (
    <Suspense>
      <ToastList messages={first} />
    </Suspense>
  );
}
