import type { ReactNode } from "react";

/** Something that the palette can do. */
export interface Command {
  readonly id: string;
  readonly label: string;
  /** What tells it from others with the same label. */
  readonly note?: string;
  readonly icon: ReactNode;
  readonly run: () => void;
}

export interface CommandGroup {
  readonly value: string;
  readonly items: readonly Command[];
}

/** The number of keys, models or accounts that are shown of each. */
export const MAX_OF_A_KIND = 6;

/** Whether each word of the search begins a word of one of the texts: "req lo" finds "Request log". */
export function matches(search: string, ...texts: readonly string[]): boolean {
  const words = texts.flatMap((text) => text.toLowerCase().split(/[\s/._:@-]+/));
  const wholes = texts.map((text) => text.toLowerCase());
  return search
    .toLowerCase()
    .split(/\s+/)
    .filter((part) => part !== "")
    .every(
      (part) =>
        words.some((word) => word.startsWith(part)) ||
        wholes.some((text) => part.length > 2 && text.includes(part)),
    );
}

/** The id of a request in the text, such as one that was copied from an error message. */
export function requestIdIn(text: string): string | undefined {
  return /req_[0-9a-z-]+/i.exec(text)?.[0];
}

/** The groups that have items. */
export function present(groups: readonly CommandGroup[]): readonly CommandGroup[] {
  return groups.filter(({ items }) => items.length > 0);
}
