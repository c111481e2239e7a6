import { Tooltip } from "@base-ui/react/tooltip";
import type { RefObject } from "react";
import styles from "./Tooltip.module.css";

interface TooltipPopupProps {
  readonly text: string;
  readonly anchor: RefObject<HTMLElement | null>;
  readonly setOpen: (isOpen: boolean) => void;
}

/** An open tooltip. Screen readers get its text from the element itself. */
export function TooltipPopup({ text, anchor, setOpen }: TooltipPopupProps) {
  return (
    <Tooltip.Root open onOpenChange={setOpen}>
      <Tooltip.Portal>
        <Tooltip.Positioner anchor={anchor} sideOffset={6} collisionPadding={8} className={styles.positioner}>
          <Tooltip.Popup
            className={styles.tooltip}
            aria-hidden="true"
            onPointerEnter={() => setOpen(true)}
            onPointerLeave={() => setOpen(false)}
          >
            {text}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
