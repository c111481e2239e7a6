import { browserStore } from "../../components/storage.ts";
import { type AuditSearch, NO_FILTERS, readAuditSearch } from "./search.ts";

/** Filters that are saved under a name. */
export interface SavedView {
  readonly name: string;
  readonly search: AuditSearch;
}

export const MAX_VIEWS = 20;
export const MAX_NAME_LENGTH = 40;

/**
 * The views of a user; `null`: the browser has stored none. They are kept in the browser: they are a matter of taste, hold nothing that
 * must not be lost, and so need no table of their own in the service. A link to the page shares one.
 */
export function readViews(userId: string): readonly SavedView[] | null {
  const stored = browserStore.read(keptAs(userId));
  return stored === null ? null : viewsOf(stored);
}

/** Calls the listener with the views that another tab has stored. @returns a function that ends it. */
export function onViewsChange(userId: string, listener: (views: readonly SavedView[]) => void): () => void {
  const onStored = ({ key, newValue }: StorageEvent) => {
    if (key === keptAs(userId)) listener(viewsOf(newValue ?? ""));
  };
  addEventListener("storage", onStored);
  return () => removeEventListener("storage", onStored);
}

export function keepViews(userId: string, views: readonly SavedView[]): void {
  browserStore.write(keptAs(userId), JSON.stringify(views));
}

/** The views of a stored text, which another version may have written. */
export function viewsOf(text: string): readonly SavedView[] {
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    return [];
  }
  if (!Array.isArray(stored)) return [];
  return stored.flatMap((view: unknown) => {
    if (typeof view !== "object" || view === null || !("name" in view) || !("search" in view)) return [];
    const { name, search } = view;
    if (typeof name !== "string" || name === "" || typeof search !== "object" || search === null) return [];
    return [{ name, search: filtersOnly(readAuditSearch(search as Record<string, unknown>)) }];
  });
}

/** The views with one added; it replaces the one of its name. */
export function withView(views: readonly SavedView[], { name, search }: SavedView): readonly SavedView[] {
  const others = views.filter((view) => view.name !== name);
  return [...others, { name, search: filtersOnly(search) }].slice(-MAX_VIEWS);
}

/** Whether the address has the filters of a view, and no others. */
export function isShown({ search }: SavedView, now: AuditSearch): boolean {
  const names = Object.keys(NO_FILTERS) as (keyof typeof NO_FILTERS)[];
  return names.every((name) => search[name] === now[name]);
}

function filtersOnly(search: AuditSearch): AuditSearch {
  const names = Object.keys(NO_FILTERS) as (keyof typeof NO_FILTERS)[];
  return Object.fromEntries(
    names.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])),
  );
}

function keptAs(userId: string): string {
  return `audit-views-${userId}`;
}
