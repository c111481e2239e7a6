import { useEffect, useState } from "react";
import { Deferred, lazyCode } from "./lazy-code.tsx";
import { onToast, type ToastMessage } from "./toast.ts";

export const toastList = lazyCode(async () => (await import("./ToastList.tsx")).ToastList);

/** The place of toasts, in the corner of the window. */
export function Toasts() {
  const [messages, setMessages] = useState<readonly ToastMessage[]>([]);
  useEffect(() => onToast((message) => setMessages((before) => [...before, message])), []);
  return messages.length === 0 ? null : <Deferred code={toastList} props={{ messages }} />;
}
