import listsStyles from "../../components/lists.module.css";
import { Notice } from "../../components/Notice.tsx";

interface ProblemListProps {
  readonly problems: readonly string[];
  /** What is said when there are none. */
  readonly none: string;
}

/** What is wrong, one line each, or that nothing is. */
export function ProblemList({ problems, none }: ProblemListProps) {
  if (problems.length === 0) {
    return (
      <Notice tone="good">
        <p>{none}</p>
      </Notice>
    );
  }
  return (
    <Notice tone="warning">
      <ul className={listsStyles.lines}>
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </Notice>
  );
}
