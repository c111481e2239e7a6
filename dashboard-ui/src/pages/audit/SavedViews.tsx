import { useNavigate } from "@tanstack/react-router";
import { Button } from "../../components/Button.tsx";
import listsStyles from "../../components/lists.module.css";
import { isShown, type SavedView } from "./saved-views.ts";
import { type AuditSearch, NO_FILTERS } from "./search.ts";

interface SavedViewsProps {
  readonly views: readonly SavedView[];
  readonly search: AuditSearch;
}

/** The saved views, each one click away. */
export function SavedViews({ views, search }: SavedViewsProps) {
  const navigate = useNavigate({ from: "/audit" });
  if (views.length === 0) return null;
  return (
    <ul className={listsStyles.chips} aria-label="Saved views">
      {views.map((view) => (
        <li key={view.name}>
          <Button
            aria-pressed={isShown(view, search)}
            look={isShown(view, search) ? "primary" : "plain"}
            onClick={() =>
              void navigate({
                search: (now) => ({ ...now, ...NO_FILTERS, ...view.search, entry: undefined }),
              })
            }
          >
            {view.name}
          </Button>
        </li>
      ))}
    </ul>
  );
}
