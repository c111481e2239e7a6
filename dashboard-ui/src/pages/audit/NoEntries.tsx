import { Button } from "../../components/Button.tsx";
import { Empty } from "../../components/Notice.tsx";

interface NoEntriesProps {
  readonly isFiltered: boolean;
  /** Takes the filters away. */
  readonly clear: () => void;
}

/** Where there are no entries to show. */
export function NoEntries({ isFiltered, clear }: NoEntriesProps) {
  if (isFiltered) {
    return (
      <Empty title="No entry matches">
        <p>
          <Button onClick={clear}>Clear filters</Button>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No requests yet">
      <p>Requests made with this account's keys appear here.</p>
    </Empty>
  );
}

/** Where the service does not take a filter. */
export function FilterRefused() {
  return (
    <Empty title="Invalid filter">
      <p>Correct the field marked above.</p>
    </Empty>
  );
}
