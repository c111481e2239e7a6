import { OstiaryError } from "./errors.ts";

interface Surroundings {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
  readonly Deno?: { readonly env?: { get(name: string): string | undefined } };
  readonly window?: { readonly document?: unknown };
  readonly importScripts?: unknown;
  readonly navigator?: { readonly userAgent?: string; readonly product?: string };
}

const surroundings = globalThis as unknown as Surroundings;

/** An environment variable, trimmed; `undefined` when it is unset, empty or not accessible. */
export function readVariable(name: string): string | undefined {
  return readIfPermitted(name) ?? undefined;
}

/** The error of a client without the value of a variable. @param option the client's option for the same value. */
export function unsetError(what: string, name: string, option: string): OstiaryError {
  const reason = readIfPermitted(name) === null ? " (Deno lacks --allow-env)" : "";
  return new OstiaryError(
    `No ${what} is set. Set the environment variable ${name}${reason}, or pass ${option}.`,
  );
}

/** As {@link readVariable}; `null` if Deno does not permit it. */
export function readIfPermitted(name: string): string | null | undefined {
  try {
    const value = surroundings.process?.env?.[name] ?? surroundings.Deno?.env?.get(name);
    return value?.trim() || undefined;
  } catch {
    // Deno without --allow-env throws.
    return null;
  }
}

/** Whether the code runs in a web page, a browser's worker or an app, where every user could read the key. */
export function isBrowser(): boolean {
  const { window, importScripts, navigator } = surroundings;
  if (window?.document !== undefined || navigator?.product === "ReactNative") return true;
  // The workers of Deno have such a function too, and a server may pretend to be a browser, but none does both.
  return typeof importScripts === "function" && /^Mozilla\//.test(navigator?.userAgent ?? "");
}
