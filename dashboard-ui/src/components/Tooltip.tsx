import { type FocusEvent, type PointerEvent, type RefObject, useRef, useState } from "react";
import { Deferred, lazyCode } from "./lazy-code.tsx";

export const tooltipPopup = lazyCode(async () => (await import("./TooltipPopup.tsx")).TooltipPopup);

interface TipState<Target extends HTMLElement> {
  readonly text: string | undefined;
  readonly target: RefObject<Target | null>;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  /** For the element that the tooltip is about. */
  readonly props: {
    readonly ref: RefObject<Target | null>;
    readonly onPointerEnter: (event: PointerEvent) => void;
    readonly onPointerLeave: (event: PointerEvent) => void;
    readonly onPointerDown: () => void;
    readonly onFocus: (event: FocusEvent) => void;
    readonly onBlur: () => void;
  };
}

/** How long the pointer may be on its way from the element to its tooltip. */
const CROSSING_MS = 120;

/**
 * The state of a tooltip, which opens at the pointer and at the keyboard's focus. The element needs a name or a description of
 * its own: the tooltip only shows it.
 *
 * @param text what it shows; without it the tooltip stays closed.
 */
export function useTip<Target extends HTMLElement>(text: string | undefined): TipState<Target> {
  const target = useRef<Target>(null);
  const leaving = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [isOpen, setOpenState] = useState(false);
  const setOpen = (open: boolean) => {
    clearTimeout(leaving.current);
    setOpenState(open);
  };
  return {
    text,
    target,
    isOpen,
    setOpen,
    props: {
      ref: target,
      onPointerEnter: ({ pointerType }) => {
        if (pointerType !== "touch") setOpen(true);
      },
      onPointerLeave: () => {
        leaving.current = setTimeout(() => setOpenState(false), CROSSING_MS);
      },
      onPointerDown: () => setOpen(false),
      onFocus: (event) => {
        if (event.target.matches(":focus-visible")) setOpen(true);
      },
      onBlur: () => setOpen(false),
    },
  };
}

/** The tooltip of an element. */
export function Tip<Target extends HTMLElement>({ state }: { readonly state: TipState<Target> }) {
  const { text, isOpen, target, setOpen } = state;
  if (text === undefined || !isOpen) return null;
  return <Deferred code={tooltipPopup} props={{ text, anchor: target, setOpen }} />;
}
