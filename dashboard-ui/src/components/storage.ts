// Values that the dashboard stores in the browser. Storage may be forbidden or full; then nothing is stored.

interface Store {
  read(name: string): string | null;
  /** `null` removes the value. */
  write(name: string, text: string | null): void;
}

/** Lasts until the tab is closed or the user signs out. */
export const sessionStore = storeOf(() => sessionStorage);
/** Lasts in this browser, for every user. */
export const browserStore = storeOf(() => localStorage);

/** The database with the playground's conversations. */
export const HISTORY_DATABASE = "playground";

/** Where the tab stores the e-mail address of the user whose session has ended, for the sign-in page. */
export const LAST_EMAIL = "last e-mail";

const listeners = new Set<() => void>();

/** Calls the listener when the user signs out, before the tab's storage is cleared. */
export function onClearSession(listener: () => void): void {
  listeners.add(listener);
}

/** Clears what the tab stores and the playground's conversations, when the user signs out. */
export function clearSession(): void {
  clearTab();
  // The history may be of an earlier visit: its code may not be loaded in this tab.
  attempt(() => indexedDB.deleteDatabase(HISTORY_DATABASE));
}

/** Clears what the tab stores, when another user has signed in. What the browser stores may be theirs. */
export function clearTab(): void {
  for (const listener of listeners) listener();
  attempt(() => sessionStorage.clear());
}

const endListeners = new Set<() => void>();

/** Calls the listener when the service has ended the session, before the sign-in page opens. @returns what ends that. */
export function onSessionEnded(listener: () => void): () => void {
  endListeners.add(listener);
  return () => void endListeners.delete(listener);
}

/** Lets forms keep what was typed, when the service has ended the session. */
export function sessionEnded(): void {
  for (const listener of endListeners) listener();
}

function storeOf(storage: () => Storage): Store {
  return {
    read: (name) => attempt(() => storage().getItem(name)),
    write: (name, text) =>
      attempt(() => (text === null ? storage().removeItem(name) : storage().setItem(name, text))),
  };
}

function attempt<Result>(act: () => Result): Result | null {
  try {
    return act();
  } catch {
    return null;
  }
}
