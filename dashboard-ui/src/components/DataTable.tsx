import { Fragment, type ReactNode } from "react";
import { classes } from "./classes.ts";
import styles from "./DataTable.module.css";
import { staleProps } from "./stale.ts";
import textStyles from "./text.module.css";

export interface Column<Row> {
  readonly label: string;
  /** A header above this column and its neighbours with the same group. */
  readonly group?: string;
  /** Whether only screen readers get the label, as above buttons. */
  readonly isLabelHidden?: boolean;
  readonly kind?: "name" | "time" | "number" | "actions";
  /** The label beside the value on a phone, where the table has no header. Default: `label`. */
  readonly cardLabel?: string;
  readonly className?: string | undefined | ((row: Row) => string | undefined);
  /** Whether the column is left out in a small window, where the others need its space. The row's own page has its value. */
  readonly isMinor?: boolean;
  /** Called when the header is pressed, which makes it a button. */
  readonly onSort?: () => void;
  /** Whether the rows are in the order of this column. */
  readonly sorted?: "none" | "ascending" | "descending";
  readonly cell: (row: Row) => ReactNode;
}

interface DataTableProps<Row> {
  /** The table's content, for screen readers. */
  readonly caption: string;
  /** The first column names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly className?: string | undefined;
  /** Whether a row is faded, as for revoked keys. */
  readonly isFaded?: (row: Row) => boolean;
  /** Details of a row, shown below it across all columns. */
  readonly details?: (row: Row) => ReactNode;
  /** Whether other rows are being loaded. */
  readonly busy?: boolean;
  /** Content below the table, inside its frame. */
  readonly footer?: ReactNode;
}

/** A list as a table in a frame, or as cards on a phone. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, rowKey, className, isFaded, details, busy, footer } = props;
  return (
    <div {...staleProps(busy === true, styles.tableFrame)}>
      <table className={classes(styles.table, className)}>
        <caption className={textStyles.visuallyHidden}>{caption}</caption>
        <Head columns={columns} />
        <tbody>
          {rows.map((row) => {
            const more = details?.(row) ?? null;
            return (
              <Fragment key={rowKey(row)}>
                <tr className={isFaded?.(row) === true ? styles.faded : undefined}>
                  {columns.map((column, index) => (
                    <Cell key={keyOf(column)} column={column} row={row} isName={index === 0} />
                  ))}
                </tr>
                {more === null ? null : (
                  <tr className={styles.below}>
                    <td colSpan={columns.length}>{more}</td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
      {footer}
    </div>
  );
}

/** The text shown instead of a table without rows. */
export function NoRows({ children }: { readonly children: ReactNode }) {
  return (
    <div className={styles.tableFrame}>
      <p className={styles.nothing}>{children}</p>
    </div>
  );
}

const KINDS = { name: styles.name, time: styles.time, number: styles.number, actions: styles.actions };

interface CellProps<Row> {
  readonly column: Column<Row>;
  readonly row: Row;
  readonly isName: boolean;
}

function Cell<Row>({ column, row, isName }: CellProps<Row>) {
  const { kind, label, cardLabel = label, isLabelHidden = false, isMinor, className } = column;
  const own = typeof className === "function" ? className(row) : className;
  const all = classes(kind && KINDS[kind], isMinor && styles.minor, own);
  return isName ? (
    <th scope="row" className={all}>
      {column.cell(row)}
    </th>
  ) : (
    <td data-label={isLabelHidden ? undefined : cardLabel} className={all}>
      {column.cell(row)}
    </td>
  );
}

function Head<Row>({ columns }: Pick<DataTableProps<Row>, "columns">) {
  const groups = columns.map(({ group }) => group);
  const isGrouped = groups.some((group) => group !== undefined);
  const single = columns.filter(({ group }) => group === undefined);
  const head = (column: Column<Row>, rowSpan?: number) => (
    <th
      key={keyOf(column)}
      scope="col"
      rowSpan={rowSpan}
      className={classes(column.kind === "number" && styles.number, column.isMinor && styles.minor)}
      aria-sort={column.sorted}
    >
      <HeadLabel column={column} />
    </th>
  );
  if (!isGrouped) {
    return (
      <thead>
        <tr>{single.map((column) => head(column))}</tr>
      </thead>
    );
  }
  return (
    <thead>
      <tr>
        {columns.map((column, index) => {
          const { group } = column;
          if (group === undefined) return head(column, 2);
          if (groups[index - 1] === group) return null;
          return (
            <th
              key={group}
              scope="colgroup"
              colSpan={groups.filter((other) => other === group).length}
              className={classes(styles.number, styles.grouping)}
            >
              {group}
            </th>
          );
        })}
      </tr>
      <tr>{columns.filter(({ group }) => group !== undefined).map((column) => head(column))}</tr>
    </thead>
  );
}

const ARROWS = { none: "", ascending: "↑", descending: "↓" };

function HeadLabel<Row>({ column }: { readonly column: Column<Row> }) {
  const { label, isLabelHidden = false, onSort, sorted = "none" } = column;
  if (onSort !== undefined) {
    return (
      <button type="button" className={styles.sort} onClick={onSort}>
        {label}
        <span className={styles.sortArrow} aria-hidden="true">
          {ARROWS[sorted]}
        </span>
      </button>
    );
  }
  return isLabelHidden ? <span className={textStyles.visuallyHidden}>{label}</span> : label;
}

function keyOf<Row>({ group = "", label }: Column<Row>): string {
  return `${group} ${label}`;
}
