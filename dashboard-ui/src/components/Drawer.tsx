import { Dialog } from "@base-ui/react/dialog";
import type { ReactNode, RefObject } from "react";
import buttonStyles from "./Button.module.css";
import { classes } from "./classes.ts";
import dialogStyles from "./Dialog.module.css";
import styles from "./Shell.module.css";

interface DrawerProps {
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  /** The button that opens it, which has the focus again after it closes. */
  readonly opener: RefObject<HTMLButtonElement | null>;
  readonly children: ReactNode;
}

/** The navigation of a small window, at its edge. */
export function Drawer({ isOpen, setOpen, opener, children }: DrawerProps) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialogStyles.backdrop} />
        <Dialog.Popup className={styles.drawer} finalFocus={opener}>
          <div className={styles.sideHead}>
            <Dialog.Title>Menu</Dialog.Title>
            <Dialog.Close className={classes(buttonStyles.button, buttonStyles.buttonQuiet)}>
              Close
            </Dialog.Close>
          </div>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
