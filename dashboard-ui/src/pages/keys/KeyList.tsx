import { useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { NoRows } from "../../components/DataTable.tsx";
import { formatCount, formatCounted } from "../../components/format.ts";
import { LoadError, Loading } from "../../components/Notice.tsx";
import pagedStyles from "../../components/Paged.module.css";
import textStyles from "../../components/text.module.css";
import { KeyFilters } from "./KeyFilters.tsx";
import { KeyTable } from "./KeyTable.tsx";
import type { KeysSearch } from "./search.ts";
import { selectKeys } from "./select-keys.ts";
import type { FoundKeys } from "./use-found-keys.ts";
import { useFreshKeys } from "./use-fresh-keys.ts";

/** The number of keys to show at once. An account may have thousands, which would be slow to render. */
const PAGE = 100;

interface KeyListProps {
  readonly keys: readonly ListedKey[];
  /** The number of all keys, which is more than those that are listed where there are too many. */
  readonly total: number;
  readonly search: KeysSearch;
  /** The state of the search for keys that are not listed. */
  readonly found: FoundKeys;
  readonly revoke: (key: ListedKey) => void;
}

/** The account's keys that match the search. */
export function KeyList({ keys, total, search, found: further, revoke }: KeyListProps) {
  const [maxShown, setMaxShown] = useState(PAGE);
  const found = selectKeys(keys, search);
  const shown = found.slice(0, maxShown);
  // A list that fits on one page is refreshed as a whole.
  const fresh = useFreshKeys(keys.length > PAGE ? shown : NO_KEYS);
  const shownCount = useRef<HTMLParagraphElement>(null);

  const showMore = () => {
    flushSync(() => setMaxShown(maxShown + PAGE));
    // The button goes with the last keys, so the focus moves to what is in its place.
    if (maxShown + PAGE >= found.length) shownCount.current?.focus({ preventScroll: true });
  };

  return (
    <>
      {keys.length > 1 ? (
        <KeyFilters search={search} count={countText(found.length, keys.length, total)} />
      ) : null}
      {further.error === null ? null : <LoadError error={further.error} retry={further.retry} />}
      {shown.length === 0 ? (
        <NothingShown search={search} further={further} isCut={total > keys.length} />
      ) : (
        <KeyTable keys={keys.length > PAGE ? fresh : shown} all={keys} revoke={revoke} />
      )}
      {found.length > PAGE ? (
        <div className={pagedStyles.more}>
          <p className={textStyles.small} ref={shownCount} tabIndex={-1}>
            {formatCount(shown.length)} of {formatCount(found.length)} keys shown
          </p>
          {shown.length < found.length ? <Button onClick={showMore}>Show more keys</Button> : null}
        </div>
      ) : null}
    </>
  );
}

function countText(found: number, listed: number, total: number): string {
  return found === listed
    ? formatCounted(total, "key")
    : `${formatCount(found)} of ${formatCounted(total, "key")}`;
}

const NO_KEYS: readonly ListedKey[] = [];

interface NothingShownProps {
  readonly search: KeysSearch;
  readonly further: FoundKeys;
  /** Whether the account has keys that are not listed. */
  readonly isCut: boolean;
}

function NothingShown({ search, further, isCut }: NothingShownProps) {
  if (further.isSearching) return <Loading what="keys" isLine />;
  return further.error === null ? <NoRows>{noneFound(search, isCut)}</NoRows> : null;
}

function noneFound({ search, state }: KeysSearch, isCut: boolean): string {
  const which = state === undefined ? "key" : `${state} key`;
  if (search === undefined && isCut) return `No ${which} is among those that are listed.`;
  return search === undefined ? `No ${which}s.` : `No ${which} matches “${search}”.`;
}
