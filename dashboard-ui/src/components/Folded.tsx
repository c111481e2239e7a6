import { type ReactNode, useState } from "react";
import { Button } from "./Button.tsx";
import { classes } from "./classes.ts";
import { formatCount } from "./format.ts";
import pagedStyles from "./Paged.module.css";

/** The number of rows from which a table is folded. */
const FOLDED = 12;

interface Folded<Row> {
  readonly shown: readonly Row[];
  /** The end of a long list, which shows the others. */
  readonly footer: ReactNode;
}

/**
 * The first rows of a list that is one of several on its page, or all once the reader has asked for them.
 *
 * @param folded the number of rows that are shown at first.
 */
export function useFolded<Row>(rows: readonly Row[], folded = FOLDED): Folded<Row> {
  const [isUnfolded, setUnfolded] = useState(false);
  if (rows.length <= folded) return { shown: rows, footer: null };
  return {
    shown: isUnfolded ? rows : rows.slice(0, folded),
    footer: (
      <div className={classes(pagedStyles.more, pagedStyles.unfold)}>
        <Button aria-expanded={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
          {isUnfolded ? "Show fewer" : `Show all ${formatCount(rows.length)}`}
        </Button>
      </div>
    ),
  };
}
