import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { api } from "../../api/client.ts";
import { type Column, keepColumns, readColumns } from "./columns.ts";
import { keepViews, onViewsChange, readViews, type SavedView } from "./saved-views.ts";

/** What changes the saved views: of those that are stored then, which another tab may have changed meanwhile. */
export type ChangeViews = (change: (views: readonly SavedView[]) => readonly SavedView[]) => void;

const NO_VIEWS: readonly SavedView[] = [];

/** The columns and the saved views, which this browser keeps. */
export function useView() {
  const userId = useQuery(api.auth.me.queryOptions()).data?.user.id ?? "";
  const kept = useMemo(() => readViews(userId) ?? NO_VIEWS, [userId]);
  const [changed, setChanged] = useState<readonly SavedView[] | null>(null);
  const [columns, setColumns] = useState(readColumns);
  useEffect(() => onViewsChange(userId, setChanged), [userId]);
  const views = changed ?? kept;
  const changeViews: ChangeViews = (change) => {
    // A browser that stores nothing has those of this page.
    const next = change(readViews(userId) ?? views);
    keepViews(userId, next);
    setChanged(next);
  };
  return {
    columns,
    setColumns: (next: readonly Column[]) => {
      keepColumns(next);
      setColumns(next);
    },
    views,
    changeViews,
  };
}
