import { Menu } from "@base-ui/react/menu";
import { type FocusEvent, type ReactNode, type RefObject, useRef } from "react";
import { Check } from "../icons/icons.ts";
import { classes } from "./classes.ts";
import styles from "./Menu.module.css";
import type { MenuAction, MenuChoice, MenuPart, MenuStart } from "./Menu.tsx";

interface MenuPopupProps {
  readonly start: MenuStart;
  readonly parts: readonly MenuPart[];
  readonly side: "top" | "bottom";
  readonly align: "start" | "end";
  readonly head: ReactNode;
  readonly anchor: RefObject<HTMLButtonElement | null>;
  readonly labelledBy: string;
  /** Does an action after the menu has closed. */
  readonly choose: (action: () => void) => void;
  readonly onClose: () => void;
}

/** An open menu. */
export function MenuPopup(props: MenuPopupProps) {
  const { start, parts, side, align, head, anchor, labelledBy, choose, onClose } = props;
  const hasStarted = useRef(false);
  const onFocus = ({ target, currentTarget }: FocusEvent<HTMLElement>) => {
    if (hasStarted.current || target !== currentTarget) return;
    hasStarted.current = true;
    const items = [...currentTarget.querySelectorAll<HTMLElement>('[role^="menuitem"]')];
    if (start !== "menu") items.at(start === "first" ? 0 : -1)?.focus();
  };
  return (
    <Menu.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      {/* In a landmark, as all content of a page is, or else beside the dialog that it belongs to. */}
      <Menu.Portal container={anchor.current?.closest<HTMLElement>("header, main") ?? undefined}>
        <Menu.Positioner
          anchor={anchor}
          side={side}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className={styles.positioner}
        >
          <Menu.Popup
            className={styles.menu}
            finalFocus={anchor}
            aria-labelledby={labelledBy}
            onFocus={onFocus}
          >
            {head}
            {parts.map((part, index) => (
              // The parts of a menu don't change their order.
              // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity
              <div key={index} className={styles.part}>
                {"options" in part ? <Choice choice={part} /> : <Actions actions={part} choose={choose} />}
              </div>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

interface ActionsProps extends Pick<MenuPopupProps, "choose"> {
  readonly actions: readonly MenuAction[];
}

function Actions({ actions, choose }: ActionsProps) {
  return actions.map(({ label, icon, tone, onSelect }) => (
    <Menu.Item
      key={label}
      className={classes(styles.item, tone === "danger" && styles.danger)}
      onClick={() => choose(onSelect)}
    >
      {icon}
      {label}
    </Menu.Item>
  ));
}

function Choice({ choice: { label, value, options, onChange } }: { readonly choice: MenuChoice }) {
  return (
    <Menu.RadioGroup value={value} onValueChange={onChange}>
      <Menu.GroupLabel className={styles.groupLabel}>{label}</Menu.GroupLabel>
      {options.map((option) => (
        <Menu.RadioItem key={option.value} value={option.value} closeOnClick className={styles.item}>
          {option.icon}
          {option.label}
          <Menu.RadioItemIndicator className={styles.chosen}>
            <Check size={14} aria-hidden="true" />
          </Menu.RadioItemIndicator>
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  );
}
