import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api } from "../../api/client.ts";
import { type Column, keepColumns, readColumns } from "./columns.ts";
import { keepViews, readViews, type SavedView } from "./saved-views.ts";

/** The columns and the saved views, which this browser keeps. */
export function useView() {
  const userId = useQuery(api.auth.me.queryOptions()).data?.user.id ?? "";
  const kept = useMemo(() => readViews(userId), [userId]);
  const [changed, setChanged] = useState<readonly SavedView[] | null>(null);
  const [columns, setColumns] = useState(readColumns);
  return {
    columns,
    setColumns: (next: readonly Column[]) => {
      keepColumns(next);
      setColumns(next);
    },
    views: changed ?? kept,
    setViews: (next: readonly SavedView[]) => {
      keepViews(userId, next);
      setChanged(next);
    },
  };
}
