import { useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { NoRows } from "../../components/DataTable.tsx";
import { formatCount } from "../../components/format.ts";
import pagedStyles from "../../components/Paged.module.css";
import textStyles from "../../components/text.module.css";
import { KeyFilters } from "./KeyFilters.tsx";
import { KeyTable } from "./KeyTable.tsx";
import type { KeysSearch } from "./search.ts";
import { selectKeys } from "./select-keys.ts";

/** An account may have thousands; nobody reads so many at once, and a browser need not lay them out. */
const PAGE = 100;

interface KeyListProps {
  readonly keys: readonly ListedKey[];
  readonly search: KeysSearch;
  readonly revoke: (key: ListedKey) => void;
}

/** The account's keys, of them those that are looked for. */
export function KeyList({ keys, search, revoke }: KeyListProps) {
  const [maxShown, setMaxShown] = useState(PAGE);
  const found = selectKeys(keys, search);
  const shown = found.slice(0, maxShown);
  const count = useRef<HTMLParagraphElement>(null);

  const showMore = () => {
    flushSync(() => setMaxShown(maxShown + PAGE));
    // With the last of them the button is gone, and the focus must not be gone with it.
    if (maxShown + PAGE >= found.length) count.current?.focus({ preventScroll: true });
  };

  return (
    <>
      {keys.length > 1 ? <KeyFilters search={search} /> : null}
      {shown.length === 0 ? (
        <NoRows>{noneFound(search)}</NoRows>
      ) : (
        <KeyTable keys={shown} all={keys} revoke={revoke} />
      )}
      {keys.length > 1 ? (
        <p className={textStyles.small} role="status" ref={count} tabIndex={-1}>
          {found.length === keys.length
            ? `${formatCount(keys.length)} keys`
            : `${formatCount(found.length)} of ${formatCount(keys.length)} keys`}
          {shown.length < found.length ? `, the first ${formatCount(shown.length)} shown` : null}
        </p>
      ) : null}
      {shown.length < found.length ? (
        <div className={pagedStyles.more}>
          <Button onClick={showMore}>Show more keys</Button>
        </div>
      ) : null}
    </>
  );
}

function noneFound({ search, state }: KeysSearch): string {
  const which = state === undefined ? "key" : `${state} key`;
  return search === undefined ? `No ${which}s.` : `No ${which} matches “${search}”.`;
}
