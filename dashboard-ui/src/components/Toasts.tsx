import { useEffect, useState } from "react";
import { Deferred, deferred } from "./deferred.tsx";
import { onToast, type ToastMessage } from "./toast.ts";

export const toastList = deferred(async () => (await import("./ToastList.tsx")).ToastList);

/** The place of toasts, in the corner of the window. */
export function Toasts() {
  const [messages, setMessages] = useState<readonly ToastMessage[]>([]);
  useEffect(() => onToast((message) => setMessages((before) => [...before, message])), []);
  return messages.length === 0 ? null : <Deferred part={toastList} props={{ messages }} />;
}
