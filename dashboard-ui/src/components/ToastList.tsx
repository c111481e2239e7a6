import { Toast } from "@base-ui/react/toast";
import { useEffect, useRef } from "react";
import { X } from "../icons/icons.ts";
import { CircleCheck } from "../icons/notices.ts";
import { IconButton } from "./Button.tsx";
import styles from "./Toasts.module.css";
import type { ToastMessage } from "./toast.ts";

const SHOWN_MS = 6_000;

/** @param messages every message so far; those that are new are shown. */
export function ToastList({ messages }: { readonly messages: readonly ToastMessage[] }) {
  return (
    <Toast.Provider timeout={SHOWN_MS} limit={3}>
      <Added messages={messages} />
      <Toast.Portal>
        <Toast.Viewport className={styles.viewport}>
          <Shown />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function Added({ messages }: { readonly messages: readonly ToastMessage[] }) {
  const { add } = Toast.useToastManager();
  const added = useRef(0);
  useEffect(() => {
    for (const message of messages.slice(added.current)) add({ ...message });
    added.current = messages.length;
  }, [messages, add]);
  return null;
}

function Shown() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((shown) => (
    <Toast.Root
      key={shown.id}
      toast={shown}
      // A message asks for no answer, as a dialog does.
      role="group"
      // biome-ignore lint/a11y/useValidAriaValues: removes the attribute, which a group can't have
      aria-modal={undefined}
      className={styles.toast}
      swipeDirection={["right", "down", "up"]}
    >
      <CircleCheck size={18} aria-hidden="true" className={styles.icon} />
      <Toast.Content className={styles.content}>
        <Toast.Title className={styles.title} render={<p />} />
        <Toast.Description className={styles.description} />
      </Toast.Content>
      <Toast.Close
        // The button can have the focus at any time.
        aria-hidden={false}
        render={<IconButton size="small" label="Dismiss" icon={<X size={14} aria-hidden="true" />} />}
      />
    </Toast.Root>
  ));
}
