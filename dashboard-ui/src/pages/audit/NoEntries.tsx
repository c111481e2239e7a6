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
      <p>As soon as one of the account's keys is used, the request stands here.</p>
    </Empty>
  );
}

/** Where the service does not take a filter. */
export function FilterRefused() {
  return (
    <Empty title="A filter can't be used">
      <p>What is wrong with it is told at its field.</p>
    </Empty>
  );
}
