// What a browser keeps for its reader. Storage may be forbidden or full: then it is kept until the page is left.

interface Store {
  read(name: string): string | null;
  write(name: string, text: string): void;
}

/** What is kept until the tab is closed, or its reader signs out. */
export const tabStore = storeOf(() => sessionStorage);
/** What is kept in this browser, whoever signs in. */
export const browserStore = storeOf(() => localStorage);

const listeners = new Set<() => void>();

/** Told when the reader has signed out, before the tab forgets what it kept. */
export function whenForgotten(listener: () => void): void {
  listeners.add(listener);
}

/** For a reader who signs out: whoever comes next finds nothing of theirs. */
export function forgetTab(): void {
  for (const listener of listeners) listener();
  attempt(() => sessionStorage.clear());
}

function storeOf(storage: () => Storage): Store {
  return {
    read: (name) => attempt(() => storage().getItem(name)),
    write: (name, text) => attempt(() => storage().setItem(name, text)),
  };
}

function attempt<Result>(act: () => Result): Result | null {
  try {
    return act();
  } catch {
    return null;
  }
}
