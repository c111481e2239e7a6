import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from "react";
import { Deferred, lazyCode } from "./lazy-code.tsx";

export const menuPopup = lazyCode(async () => (await import("./MenuPopup.tsx")).MenuPopup);

export interface MenuAction {
  readonly label: string;
  readonly icon?: ReactNode;
  readonly tone?: "danger";
  readonly onSelect: () => void;
}

export interface MenuChoice {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: string; readonly icon?: ReactNode }[];
  readonly onChange: (value: string) => void;
}

/** A part of a menu: actions, or a choice of one value. Lines divide the parts. */
export type MenuPart = readonly MenuAction[] | MenuChoice;

/** For the button that opens the menu. */
export interface MenuTriggerProps {
  readonly ref: RefObject<HTMLButtonElement | null>;
  readonly id: string;
  readonly "aria-haspopup": "menu";
  readonly "aria-expanded": boolean;
  readonly onClick: () => void;
  readonly onFocus: () => void;
  readonly onPointerOver: () => void;
}

interface MenuProps {
  readonly parts: readonly MenuPart[];
  readonly side?: "top" | "bottom";
  readonly align?: "start" | "end";
  /** Text above the items, such as whose menu it is. */
  readonly head?: ReactNode;
  readonly trigger: (props: MenuTriggerProps) => ReactNode;
}

/** A menu below or above its button. */
export function Menu({ parts, side = "bottom", align = "end", head, trigger }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const [chosen, setChosen] = useState<{ readonly action: () => void } | null>(null);
  const id = useId();
  useEffect(() => {
    if (chosen === null) return;
    // A dialog that the action opens gives the focus back to the menu's button.
    button.current?.focus();
    setChosen(null);
    chosen.action();
  }, [chosen]);
  return (
    <>
      {trigger({
        ref: button,
        id,
        "aria-haspopup": "menu",
        "aria-expanded": isOpen,
        onClick: () => setOpen(!isOpen),
        onFocus: menuPopup.preload,
        onPointerOver: menuPopup.preload,
      })}
      {isOpen ? (
        <Deferred
          code={menuPopup}
          props={{
            parts,
            side,
            align,
            head,
            anchor: button,
            labelledBy: id,
            choose: (action) => {
              setOpen(false);
              setChosen({ action });
            },
            onClose: () => setOpen(false),
          }}
        />
      ) : null}
    </>
  );
}
