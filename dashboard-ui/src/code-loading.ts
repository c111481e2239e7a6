import { connection, watchedFetch } from "./api/connection.ts";

/**
 * Why a part of the dashboard could not be loaded: the service can't be reached; it has another version, which no longer has the part; or
 * the part alone failed.
 */
type LoadFailure = "unreachable" | "outdated" | "failed";

/** A part of the dashboard's code could not be loaded. */
export class CodeError extends Error {
  readonly reason: LoadFailure;
  /** False where an answer other than the dashboard came, such as a proxy's 502. */
  readonly wasConnectionLost = connection.isLost();

  constructor(reason: LoadFailure, cause: unknown) {
    super("A part of the dashboard could not be loaded.", { cause });
    this.reason = reason;
  }
}

/** How long a file of code may take, on a slow connection too. */
const LOAD_TIMEOUT_MS = 60_000;
const PROBE_TIMEOUT_MS = 10_000;

/** The parts that are being loaded, by the functions that load them. */
const loadingParts = new Set<() => Promise<unknown>>();

/** Loads a part of the dashboard's code. @throws {CodeError} */
export async function loadCode<Module>(load: () => Promise<Module>): Promise<Module> {
  loadingParts.add(load);
  try {
    return await tryTwice(load);
  } finally {
    loadingParts.delete(load);
  }
}

async function tryTwice<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await loadOnce(load);
  } catch (cause) {
    const reason = await findReason();
    if (reason !== "failed") throw new CodeError(reason, cause);
  }
  // The service answers and has the part: the network may have come back after the part was asked for.
  try {
    return await loadOnce(load);
  } catch (cause) {
    throw new CodeError("failed", cause);
  }
}

async function loadOnce<Module>(load: () => Promise<Module>): Promise<Module> {
  const module = await withTimeout(load());
  await withTimeout(loadFailedStyles(load));
  return module;
}

interface FailedStyle {
  link: HTMLLinkElement;
  /** The parts that were being loaded when it failed. */
  readonly parts: ReadonlySet<() => Promise<unknown>>;
  /** An attempt to load it again that is under way. */
  loading: Promise<void> | null;
}

/** The style sheets that could not be loaded, by their addresses. */
const failedStyles = new Map<string, FailedStyle>();

// A style sheet that could not be loaded fails the import of its part once. Later imports of the part pass without it.
addEventListener(
  "error",
  ({ target }) => {
    if (!(target instanceof HTMLLinkElement) || target.rel !== "stylesheet") return;
    if (failedStyles.has(target.href)) return;
    failedStyles.set(target.href, { link: target, parts: new Set(loadingParts), loading: null });
  },
  { capture: true },
);

/** Loads the style sheets again that failed. Waits for those that failed with the part, and rejects if one of them fails again. */
async function loadFailedStyles(part: () => Promise<unknown>): Promise<void> {
  const own: Promise<void>[] = [];
  for (const style of failedStyles.values()) {
    style.loading ??= loadAgain(style);
    if (style.parts.has(part)) own.push(style.loading);
    // If it fails again, it is tried again with the next part.
    else style.loading.catch(() => {});
  }
  await Promise.all(own);
}

function loadAgain(style: FailedStyle): Promise<void> {
  const link = style.link.cloneNode() as HTMLLinkElement;
  const loading = new Promise<void>((resolve, reject) => {
    link.addEventListener("load", () => {
      failedStyles.delete(link.href);
      resolve();
    });
    link.addEventListener("error", () => {
      style.loading = null;
      reject(new Error(`${link.href} could not be loaded`));
    });
  });
  style.link.replaceWith(link);
  style.link = link;
  return loading;
}

/** Rejects after a time. The import itself can't be ended: if it succeeds later, the next attempt gets its result at once. */
function withTimeout<Module>(loading: Promise<Module>): Promise<Module> {
  const signal = AbortSignal.timeout(LOAD_TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    loading.then(resolve, reject);
  });
}

/** Finds out why a file could not be loaded, by comparing this page with the page that the service sends now. */
async function findReason(): Promise<LoadFailure> {
  try {
    const response = await watchedFetch("/", {
      cache: "no-store",
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    if (!response.ok) return "unreachable";
    const page = await response.text();
    // The names of files contain digests of their contents, so another version has another entry file.
    const entry = document.querySelector<HTMLScriptElement>('script[type="module"][src]');
    return entry === null || page.includes(new URL(entry.src).pathname) ? "failed" : "outdated";
  } catch {
    return "unreachable";
  }
}

const pages: (() => Promise<void>)[] = [];

/** Adds a page to those that are loaded ahead. */
export function loadAhead(preload: () => Promise<void>): void {
  pages.push(preload);
}

/** Loads the code of pages, one after the other, so that going to them needs no answer of the service. Ends at the first failure. */
export async function loadPagesAhead(): Promise<void> {
  for (const preload of pages) {
    try {
      await preload();
    } catch {
      return;
    }
  }
}
