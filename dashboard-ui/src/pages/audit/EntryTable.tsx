import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import {
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { classes } from "../../components/classes.ts";
import dataTableStyles from "../../components/DataTable.module.css";
import textStyles from "../../components/text.module.css";
import { EntryRow } from "./EntryRow.tsx";
import styles from "./EntryTable.module.css";
import type { EntryList } from "./entry-list.ts";

interface EntryTableProps {
  readonly entries: EntryList;
  /** How many of the first have just come. */
  readonly fresh: number;
  /** Whether there are more than are loaded. */
  readonly hasMore: boolean;
  /** The place of the entry that is open. */
  readonly openPlace: number | null;
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly open: (place: number) => void;
  readonly loadMore: () => void;
  /** Called when one has scrolled back to the first row. */
  readonly onTop: () => void;
  /** What stands below the last row. */
  readonly children: ReactNode;
}

/** The styles make cards of rows on the same condition, and have the same heights. */
const CARDS = matchMedia("(max-width: 1100px)");
const ROW_PX = 52;
const CARD_PX = 68;
const HEAD_PX = 38;
/** Rows beyond what is in view: scrolling runs ahead of rendering. */
const OVERSCAN = 6;
/** So many rows from the end more are loaded. */
const NEAR_END = 150;

const watchCards = (listener: () => void) => {
  CARDS.addEventListener("change", listener);
  return () => CARDS.removeEventListener("change", listener);
};

/**
 * Entries as rows, of which only those exist that are in view. The keyboard is at one of them, which exists wherever one
 * scrolls, so that the focus is never lost.
 */
export function EntryTable(props: EntryTableProps) {
  const { entries, fresh, hasMore, openPlace, scroller, open, loadMore, onTop, children } = props;
  const isCards = useSyncExternalStore(watchCards, () => CARDS.matches);
  const rowPx = isCards ? CARD_PX : ROW_PX;
  const headPx = isCards ? 0 : HEAD_PX;
  const [currentPlace, setCurrentPlace] = useState<number | null>(null);
  const rows = useRef<HTMLTableSectionElement>(null);
  const shouldFocus = useRef(false);

  const current =
    currentPlace === null ? 0 : Math.min(Math.max(0, entries.indexOf(currentPlace)), entries.length - 1);
  const virtualizer = useVirtualRows({ entries, current, scroller, rowPx, headPx });

  const goTo = (index: number) => {
    const wanted = Math.min(Math.max(0, index), entries.length - 1);
    shouldFocus.current = true;
    setCurrentPlace(entries.placeOf(wanted));
    virtualizer.scrollToIndex(wanted);
  };

  useLayoutEffect(() => {
    if (!shouldFocus.current) return;
    shouldFocus.current = false;
    rows.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  });

  // Whoever goes from one open entry to the next finds the table where they have come to.
  // biome-ignore lint/correctness/useExhaustiveDependencies: entries that come meanwhile move nothing
  useEffect(() => {
    if (openPlace === null) return;
    setCurrentPlace(openPlace);
    virtualizer.scrollToIndex(entries.indexOf(openPlace));
  }, [openPlace, virtualizer]);

  const items = virtualizer.getVirtualItems();
  // Rows follow each other, and only the first is told where it is: styles of their own cost each row more than all else.
  const apart = items.some(({ index }) => Math.abs(index - current) === 1) ? null : current;
  const inFlow = items.find(({ index }) => index !== apart);
  const lastIndex = virtualizer.range?.endIndex ?? 0;
  const isNearEnd =
    lastIndex >= entries.length - NEAR_END || (openPlace !== null && current >= entries.length - 2);
  useEffect(() => {
    if (isNearEnd && hasMore) loadMore();
  }, [isNearEnd, hasMore, loadMore]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const inView = Math.max(1, Math.floor(((scroller.current?.clientHeight ?? 0) - headPx) / rowPx) - 1);
    const index = indexAfter(event.key, current, inView, entries.length);
    if (index !== null) goTo(index);
    else if (event.key === "Enter" || event.key === " ") open(entries.placeOf(current));
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent) => {
    const index = indexAt(event.target);
    // Whoever marks text in a row wants to copy it.
    const isMarking = getSelection()?.isCollapsed === false;
    if (index === null || isMarking) return;
    setCurrentPlace(entries.placeOf(index));
    open(entries.placeOf(index));
  };
  const onFocus = (event: FocusEvent) => {
    const index = indexAt(event.target);
    if (index !== null) setCurrentPlace(entries.placeOf(index));
  };

  return (
    <div
      className={classes(styles.entriesFrame, isCards && styles.entriesCards)}
      ref={scroller}
      onScroll={({ currentTarget }) => {
        if (currentTarget.scrollTop === 0) onTop();
      }}
    >
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the arrow keys go from row to row
        role="grid"
        aria-rowcount={hasMore ? -1 : entries.length + 1}
        className={styles.entries}
        onKeyDown={onKeyDown}
        onClick={onClick}
        onFocus={onFocus}
      >
        <caption className={textStyles.visuallyHidden}>Requests, newest first</caption>
        <Head />
        <tbody
          ref={rows}
          className={styles.entriesBody}
          style={{ height: virtualizer.getTotalSize(), paddingTop: (inFlow?.start ?? headPx) - headPx }}
        >
          {items.map(({ index, key, start }) => {
            const entry = entries.at(index);
            return entry === undefined ? null : (
              <EntryRow
                key={key}
                entry={entry}
                index={index}
                topPx={index === apart ? start - headPx : null}
                isCurrent={index === current}
                isOpen={openPlace !== null && index === entries.indexOf(openPlace)}
                isFresh={index < fresh}
              />
            );
          })}
        </tbody>
      </table>
      {children}
    </div>
  );
}

interface VirtualRowsOptions extends Pick<EntryTableProps, "entries" | "scroller"> {
  /** The row that the keyboard is at. */
  readonly current: number;
  readonly rowPx: number;
  readonly headPx: number;
}

/** Rows in view, and the current one wherever it is. */
function useVirtualRows({ entries, current, scroller, rowPx, headPx }: VirtualRowsOptions) {
  const rangeExtractor = useCallback(
    (range: Range) => {
      const indexes = defaultRangeExtractor(range);
      if (indexes.includes(current) || current >= range.count) return indexes;
      return current < (indexes[0] ?? 0) ? [current, ...indexes] : [...indexes, current];
    },
    [current],
  );
  // The same function for the same entries: with another one all of them would be measured again, at each scroll.
  const getItemKey = useCallback((index: number) => entries.placeOf(index), [entries]);
  const virtualizer = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    getItemKey,
    overscan: OVERSCAN,
    scrollMargin: headPx,
    scrollPaddingStart: headPx,
    rangeExtractor,
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: what it has measured are rows of the other height
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowPx]);
  return virtualizer;
}

/** The row that a key leads to; `null` for other keys. */
function indexAfter(key: string, current: number, inView: number, length: number): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: current + 1,
    ArrowUp: current - 1,
    PageDown: current + inView,
    PageUp: current - inView,
    Home: 0,
    End: length - 1,
  };
  return steps[key] ?? null;
}

function Head() {
  return (
    <thead className={styles.entriesHead}>
      <tr aria-rowindex={1} className={styles.entry}>
        <th scope="col">Time</th>
        <th scope="col">Key</th>
        <th scope="col">Model, endpoint</th>
        <th scope="col" className={classes(styles.entryStatus, styles.entryAlone)}>
          Status
        </th>
        <th scope="col" className={styles.entryCode}>
          <span className={textStyles.visuallyHidden}>Error code</span>
        </th>
        <th scope="col" className={dataTableStyles.number}>
          Tokens
        </th>
        <th scope="col" className={dataTableStyles.number}>
          Cost
        </th>
        <th scope="col" className={dataTableStyles.number}>
          Latency
        </th>
        <th scope="col">Source IP</th>
        <th scope="col">
          <span className={textStyles.visuallyHidden}>Details</span>
        </th>
      </tr>
    </thead>
  );
}

function indexAt(target: EventTarget): number | null {
  const row = target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null;
  return row?.dataset.index === undefined ? null : Number(row.dataset.index);
}
