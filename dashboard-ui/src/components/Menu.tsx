import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
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

/** What has the focus first in an open menu: an item where the keyboard opened it, or else the menu itself. */
export type MenuStart = "menu" | "first" | "last";

/** For the button that opens the menu. */
interface MenuTriggerProps {
  readonly ref: RefObject<HTMLButtonElement | null>;
  readonly id: string;
  readonly "aria-haspopup": "menu";
  readonly "aria-expanded": boolean;
  readonly onClick: (event: MouseEvent) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
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
  const [start, setStart] = useState<MenuStart | null>(null);
  const isOpen = start !== null;
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
        onClick: ({ detail }) => setStart(isOpen ? null : detail === 0 ? "first" : "menu"),
        onKeyDown: (event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          setStart(event.key === "ArrowDown" ? "first" : "last");
        },
        onFocus: menuPopup.preload,
        onPointerOver: menuPopup.preload,
      })}
      {start !== null ? (
        <Deferred
          code={menuPopup}
          props={{
            start,
            parts,
            side,
            align,
            head,
            anchor: button,
            labelledBy: id,
            choose: (action) => {
              setStart(null);
              setChosen({ action });
            },
            onClose: () => setStart(null),
          }}
        />
      ) : null}
    </>
  );
}
