import { formatCount, formatCounted } from "../../components/format.ts";
import type { EntryPage } from "./entry-list.ts";

/** The number of matching entries, for screen readers. */
export function countText(first: (EntryPage & { readonly nextCursor: string | null }) | undefined): string {
  if (first === undefined) return "";
  const count = first.entries.length;
  if (first.nextCursor !== null) return count === 0 ? "" : `More than ${formatCount(count)} entries`;
  return formatCounted(count, "entry", "entries");
}
