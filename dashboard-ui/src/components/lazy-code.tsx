import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { connection } from "../api/connection.ts";
import { CodeError, loadCode } from "../code-loading.ts";
import { missingCode } from "./missing-code.ts";

/** How long after the page was opened code is loaded that may be needed next. */
const IDLE_MS = 10_000;

/** A component whose code is loaded when it is first needed. */
export interface LazyCode<Props> {
  /** The component; `null` until its code is loaded. */
  readonly current: () => ComponentType<Props> | null;
  /** @throws {CodeError} the same until {@link restart}. */
  readonly load: () => Promise<ComponentType<Props>>;
  /** Forgets a failure, so that the next call tries again. */
  readonly restart: () => void;
  /** Loads the code ahead of its use. A failure is not reported: the first use tries again. */
  readonly preload: () => void;
}

export function lazyCode<Props>(importComponent: () => Promise<ComponentType<Props>>): LazyCode<Props> {
  let current: ComponentType<Props> | null = null;
  let loading: Promise<ComponentType<Props>> | null = null;
  let hasFailed = false;
  const run = async () => {
    try {
      current = await loadCode(importComponent);
      return current;
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  const load = () => {
    loading ??= run();
    return loading;
  };
  const restart = () => {
    if (hasFailed) loading = null;
    hasFailed = false;
  };
  const preload = () => {
    restart();
    load().catch(ignore);
  };
  return { current: () => current, load, restart, preload };
}

interface DeferredProps<Props> {
  readonly code: LazyCode<Props>;
  readonly props: Props;
  /** What is shown without the code. Default: nothing. */
  readonly fallback?: ReactNode;
}

/**
 * A part that the page works without. While its code is missing, the fallback is shown; the code is asked for again when the service
 * can be reached again, and the next time that the part is shown. The page says that a reload is needed where only that can help.
 */
export function Deferred<Props extends object>({ code, props, fallback = null }: DeferredProps<Props>) {
  const [Loaded, setLoaded] = useState(() => code.current());
  useEffect(() => {
    if (Loaded !== null) return;
    let isShown = true;
    const load = () => {
      code.restart();
      code.load().then((component) => {
        missingCode.notice(null);
        if (isShown) setLoaded(() => component);
      }, notice);
    };
    load();
    const unsubscribe = connection.subscribe(() => (connection.isLost() ? undefined : load()));
    return () => {
      isShown = false;
      unsubscribe();
    };
  }, [Loaded, code]);
  return Loaded === null ? fallback : <Loaded {...props} />;
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

/** What is missing for good is said on the page, as is that the service can't be reached: nothing would happen at the press of a button. */
function notice(error: unknown): void {
  if (error instanceof CodeError && error.reason !== "unreachable") missingCode.notice(error);
}

function ignore(): void {}
