import { type ComponentType, useEffect, useState } from "react";

/** How long after the page was opened code is loaded that may be needed next. */
const IDLE_MS = 10_000;

/** A component whose code is loaded when it is first shown or preloaded. Unlike with `lazy`, a page survives without it. */
export interface DeferredPart<Props> {
  readonly loaded: () => ComponentType<Props> | null;
  readonly load: () => Promise<ComponentType<Props>>;
  readonly preload: () => void;
}

export function deferred<Props>(load: () => Promise<ComponentType<Props>>): DeferredPart<Props> {
  let loaded: ComponentType<Props> | null = null;
  const get = async () => {
    loaded ??= await load();
    return loaded;
  };
  return { loaded: () => loaded, load: get, preload: () => void get().catch(ignore) };
}

interface DeferredProps<Props> {
  readonly part: DeferredPart<Props>;
  readonly props: Props;
}

/** Renders nothing until the code is loaded. When it can't be loaded, the next time that it is shown tries again. */
export function Deferred<Props extends object>({ part, props }: DeferredProps<Props>) {
  const [Loaded, setLoaded] = useState(() => part.loaded());
  useEffect(() => {
    if (Loaded === null) void part.load().then((component) => setLoaded(() => component), ignore);
  }, [Loaded, part]);
  return Loaded === null ? null : <Loaded {...props} />;
}

/** Loads code once the page has been open for a while, so that it is there when the service can't be reached. */
export function usePreload(preloads: readonly (() => void)[]): void {
  useEffect(() => {
    const timer = setTimeout(() => {
      for (const preload of preloads) preload();
    }, IDLE_MS);
    return () => clearTimeout(timer);
  }, [preloads]);
}

/** The page says by itself that the service can't be reached. */
function ignore(): void {}
