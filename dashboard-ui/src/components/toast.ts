export interface ToastMessage {
  readonly title: string;
  readonly description?: string;
}

type Listener = (message: ToastMessage) => void;

const waiting: ToastMessage[] = [];
let listener: Listener | null = null;

/** Tells the user that an action has completed. The message disappears by itself, so it must not be needed later. */
export function toast(title: string, description?: string): void {
  const message = description === undefined ? { title } : { title, description };
  if (listener === null) waiting.push(message);
  else listener(message);
}

/** Passes messages to the page's list of toasts, and those that came before it. @returns a function that ends it. */
export function onToast(listen: Listener): () => void {
  listener = listen;
  for (const message of waiting.splice(0)) listen(message);
  return () => {
    if (listener === listen) listener = null;
  };
}
