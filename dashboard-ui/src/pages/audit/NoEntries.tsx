import { Button } from "../../components/Button.tsx";
import { LearnMore } from "../../components/LearnMore.tsx";
import { Empty } from "../../components/Notice.tsx";

interface NoEntriesProps {
  readonly isFiltered: boolean;
  /** Clears the filters. */
  readonly clear: () => void;
}

/** The text of a list without entries. */
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
      <LearnMore about="audit" />
    </Empty>
  );
}

/** The text shown when the service refuses a filter. */
export function FilterRefused() {
  return (
    <Empty title="Invalid filter">
      <p>Correct the field marked above.</p>
    </Empty>
  );
}
