import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import {
  type CSSProperties,
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { classes } from "../../components/classes.ts";
import dataTableStyles from "../../components/DataTable.module.css";
import { formatCount } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import { usePrinting } from "../../components/use-printing.ts";
import { afterStatus, COLUMN_NAMES, type Column, gridOf } from "./columns.ts";
import frameStyles from "./EntryFrame.module.css";
import { EntryRow } from "./EntryRow.tsx";
import styles from "./EntryTable.module.css";
import type { EntryList } from "./entry-list.ts";

interface EntryTableProps {
  readonly entries: EntryList;
  /** The number of first entries that have just arrived. */
  readonly fresh: number;
  /** Whether the log has more entries than are loaded. */
  readonly hasMore: boolean;
  /** The place of the open entry. */
  readonly openPlace: number | null;
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** The columns that are shown, beside those that always are. */
  readonly columns: readonly Column[];
  readonly open: (place: number) => void;
  readonly loadMore: () => void;
  /** Called when the user has scrolled back to the first row. */
  readonly onTop: () => void;
  /** Content below the last row. */
  readonly children: ReactNode;
}

/** The styles show rows as cards under the same condition, with the same heights. */
const CARDS = matchMedia("(width <= 75em)");
const ROW_REM = 3.25;
const CARD_REM = 4.25;
/** On phones cards have a third line. */
const TALL_CARDS = matchMedia("(width <= 45em)");
const TALL_CARD_REM = 5.625;
const HEAD_REM = 2.375;
/** The number of extra rows outside the view, because scrolling runs ahead of rendering. */
const OVERSCAN = 6;
/** The maximum distance from the end, in rows, at which more entries are loaded. In a short list it is a third of the rows. */
const MAX_NEAR_END = 150;
/** The maximum number of rows on paper: some 60 pages. */
const MAX_PRINTED = 1_000;

const watchCards = (listener: () => void) => {
  for (const media of [CARDS, TALL_CARDS]) media.addEventListener("change", listener);
  return () => {
    for (const media of [CARDS, TALL_CARDS]) media.removeEventListener("change", listener);
  };
};
const heightRem = () => (TALL_CARDS.matches ? TALL_CARD_REM : CARDS.matches ? CARD_REM : ROW_REM);
/** The size of text that the user has chosen in the browser: 16 pixels by default. */
const remPx = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
const heightPx = () => heightRem() * remPx();

/**
 * A table of entries that renders only the rows in view. The row at the keyboard's position is always rendered, so that
 * scrolling does not lose the focus.
 */
export function EntryTable(props: EntryTableProps) {
  const { entries, fresh, hasMore, openPlace, scroller, columns, open, loadMore, onTop, children } = props;
  const rowPx = useSyncExternalStore(watchCards, heightPx);
  const isCards = heightRem() !== ROW_REM;
  const headPx = isCards ? 0 : HEAD_REM * remPx();
  const { current, virtualizer, rows, moveTo, goTo } = useCurrentRow({
    entries,
    openPlace,
    scroller,
    rowPx,
    headPx,
  });

  const gridStyle = useGridStyle(columns, entries.costDigits);
  const isPrinting = usePrinting();
  const printed = Math.min(entries.length, MAX_PRINTED);
  const items = virtualizer.getVirtualItems();
  const shown: readonly ShownRow[] = isPrinting ? rowsUpTo(printed) : items;
  // Rows follow each other and only the first has a position: a style for each row would dominate the cost of rendering.
  const apart = isPrinting || items.some(({ index }) => Math.abs(index - current) === 1) ? null : current;
  const inFlow = items.find(({ index }) => index !== apart);
  const lastIndex = virtualizer.range?.endIndex ?? 0;
  const nearEnd = Math.min(MAX_NEAR_END, Math.floor(entries.length / 3));
  const isNearEnd =
    lastIndex >= entries.length - nearEnd || (openPlace !== null && current >= entries.length - 2);
  useEffect(() => {
    // On paper, every row is in view.
    if (isNearEnd && hasMore && !isPrinting) loadMore();
  }, [isNearEnd, hasMore, isPrinting, loadMore]);

  const rowsInView = () =>
    Math.max(1, Math.floor(((scroller.current?.clientHeight ?? 0) - headPx) / rowPx) - 1);

  return (
    <div
      className={classes(frameStyles.frame, isCards && styles.entriesCards)}
      ref={scroller}
      onScroll={({ currentTarget }) => {
        if (currentTarget.scrollTop === 0) onTop();
      }}
    >
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the arrow keys move between rows
        role="grid"
        aria-rowcount={hasMore ? -1 : entries.length + 1}
        className={styles.entries}
        style={gridStyle}
        {...rowListeners({ entries, current, rowsInView, moveTo, goTo, open })}
      >
        <caption className={textStyles.visuallyHidden}>Requests, newest first</caption>
        <Head columns={columns} />
        <tbody
          ref={rows}
          className={styles.entriesBody}
          style={
            isPrinting
              ? undefined
              : { height: virtualizer.getTotalSize(), paddingTop: (inFlow?.start ?? headPx) - headPx }
          }
        >
          {shown.map(({ index, start }) => {
            const entry = entries.at(index);
            return entry === undefined ? null : (
              <EntryRow
                key={entries.placeOf(index)}
                entry={entry}
                index={index}
                topPx={index === apart ? start - headPx : null}
                isCurrent={index === current}
                isOpen={openPlace !== null && index === entries.indexOf(openPlace)}
                isFresh={index < fresh}
                fraction={entries.fraction}
                columns={columns}
              />
            );
          })}
        </tbody>
      </table>
      {isPrinting && (hasMore || printed < entries.length) ? (
        <p className={frameStyles.end}>
          The newest {formatCount(printed)} entries. The log has more: export it to have them all.
        </p>
      ) : (
        children
      )}
    </div>
  );
}

/** The style of the columns. */
function useGridStyle(columns: EntryTableProps["columns"], costDigits: number): CSSProperties {
  return useMemo(() => {
    const { widths, min, status } = gridOf(columns);
    return {
      "--entry-columns": widths,
      "--entry-min": min,
      "--entry-status": status,
      "--entry-cost-digits": costDigits,
    } as CSSProperties;
  }, [columns, costDigits]);
}

interface RowListenersOptions extends Pick<EntryTableProps, "entries" | "open"> {
  /** The index of the row at the keyboard's position. */
  readonly current: number;
  readonly rowsInView: () => number;
  readonly moveTo: (index: number) => void;
  readonly goTo: (index: number) => void;
}

/** What the table does with keys, clicks and the focus: it goes to rows, and opens them. */
function rowListeners({ entries, current, rowsInView, moveTo, goTo, open }: RowListenersOptions) {
  return {
    onKeyDown: (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const index = indexAfter(event.key, current, rowsInView(), entries.length);
      if (index !== null) goTo(index);
      else if (event.key === "Enter" || event.key === " ") open(entries.placeOf(current));
      else return;
      event.preventDefault();
    },
    onClick: (event: MouseEvent) => {
      const index = indexAt(event.target);
      // Selecting text in a row must not open it, because the user wants to copy.
      const isMarking = getSelection()?.isCollapsed === false;
      if (index === null || isMarking) return;
      moveTo(index);
      open(entries.placeOf(index));
    },
    onFocus: (event: FocusEvent) => {
      const index = indexAt(event.target);
      if (index !== null) moveTo(index);
    },
  };
}

/** A row to render. */
interface ShownRow {
  readonly index: number;
  /** Its distance from the top of the table, in pixels, which only rows apart from the others need. */
  readonly start: number;
}

const rowsUpTo = (length: number): readonly ShownRow[] =>
  Array.from({ length }, (_, index) => ({ index, start: 0 }));

/**
 * The row at the keyboard's position, and the rows in view. `moveTo` moves the position; `goTo` also scrolls to the row and focuses it.
 * `rows` is the ref of the rows' parent.
 */
function useCurrentRow({
  openPlace,
  ...view
}: Pick<EntryTableProps, "openPlace"> & Omit<VirtualRowsOptions, "current">) {
  const { entries } = view;
  const [currentPlace, setCurrentPlace] = useState<number | null>(null);
  const rows = useRef<HTMLTableSectionElement>(null);
  const shouldFocus = useRef(false);

  const current =
    currentPlace === null ? 0 : Math.min(Math.max(0, entries.indexOf(currentPlace)), entries.length - 1);
  const virtualizer = useVirtualRows({ ...view, current });

  const moveTo = (index: number) => setCurrentPlace(entries.placeOf(index));
  const goTo = (index: number) => {
    const wanted = Math.min(Math.max(0, index), entries.length - 1);
    shouldFocus.current = true;
    moveTo(wanted);
    virtualizer.scrollToIndex(wanted);
  };

  useLayoutEffect(() => {
    if (!shouldFocus.current) return;
    shouldFocus.current = false;
    rows.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  });

  // The table follows the open entry, so that it is in view after closing.
  // biome-ignore lint/correctness/useExhaustiveDependencies: entries that arrive later do not scroll the table
  useEffect(() => {
    if (openPlace === null) return;
    setCurrentPlace(openPlace);
    virtualizer.scrollToIndex(entries.indexOf(openPlace));
  }, [openPlace, virtualizer]);

  return { current, virtualizer, rows, moveTo, goTo };
}

interface VirtualRowsOptions extends Pick<EntryTableProps, "entries" | "scroller"> {
  /** The row at the keyboard's position. */
  readonly current: number;
  readonly rowPx: number;
  readonly headPx: number;
}

/** The rows in view, and the current row wherever it is. */
function useVirtualRows({ entries, current, scroller, rowPx, headPx }: VirtualRowsOptions) {
  const rangeExtractor = useCallback(
    (range: Range) => {
      const indexes = defaultRangeExtractor(range);
      if (indexes.includes(current) || current >= range.count) return indexes;
      return current < (indexes[0] ?? 0) ? [current, ...indexes] : [...indexes, current];
    },
    [current],
  );
  // The function must stay the same for the same entries: a new one makes the virtualizer measure all rows at each scroll.
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

  // biome-ignore lint/correctness/useExhaustiveDependencies: the previous measurements have the other row height
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowPx]);
  return virtualizer;
}

/** The row that a key moves to; `null` for other keys. */
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

/** Columns of texts; the others are numbers. */
const TEXTS: readonly Column[] = ["upstream", "source"];

function Head({ columns }: Pick<EntryTableProps, "columns">) {
  return (
    <thead className={styles.entriesHead}>
      <tr aria-rowindex={1} className={styles.entry}>
        <th scope="col">Time</th>
        {columns.includes("account") ? <th scope="col">{COLUMN_NAMES.account}</th> : null}
        {columns.includes("key") ? <th scope="col">{COLUMN_NAMES.key}</th> : null}
        <th scope="col">Model, endpoint</th>
        <th scope="col" className={classes(styles.entryStatus, styles.entryAlone)}>
          Status
        </th>
        <th scope="col" className={styles.entryCode}>
          <span className={textStyles.visuallyHidden}>Error code</span>
        </th>
        {afterStatus(columns).map((column) => (
          <th
            key={column}
            scope="col"
            className={TEXTS.includes(column) ? undefined : dataTableStyles.number}
          >
            {COLUMN_NAMES[column]}
          </th>
        ))}
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
