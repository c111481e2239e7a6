import { lazy, type ReactNode, type RefObject, Suspense, useId, useRef, useState } from "react";

const loadPopup = () => import("./MenuPopup.tsx").then((module) => ({ default: module.MenuPopup }));
/** Loaded when the pointer or the focus first comes to a menu's button. */
const MenuPopup = lazy(loadPopup);

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
  const id = useId();
  const preload = () => void loadPopup();
  return (
    <>
      {trigger({
        ref: button,
        id,
        "aria-haspopup": "menu",
        "aria-expanded": isOpen,
        onClick: () => setOpen(!isOpen),
        onFocus: preload,
        onPointerOver: preload,
      })}
      {isOpen ? (
        <Suspense>
          <MenuPopup
            parts={parts}
            side={side}
            align={align}
            head={head}
            anchor={button}
            labelledBy={id}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      ) : null}
    </>
  );
}
