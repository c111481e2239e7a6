interface Surroundings {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
  readonly Deno?: { readonly env?: { get(name: string): string | undefined } };
  readonly window?: { readonly document?: unknown };
}

const surroundings = globalThis as unknown as Surroundings;

/** An environment variable, trimmed; `undefined` when it is unset, empty or not accessible. */
export function readVariable(name: string): string | undefined {
  try {
    const value = surroundings.process?.env?.[name] ?? surroundings.Deno?.env?.get(name);
    return value?.trim() || undefined;
  } catch {
    // Deno without --allow-env throws.
    return undefined;
  }
}

/** Whether the code runs in a web page, where every visitor could read the key. */
export function isBrowser(): boolean {
  return surroundings.window?.document !== undefined;
}
