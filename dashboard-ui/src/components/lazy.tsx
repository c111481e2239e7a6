import {
  type ComponentType,
  Component as ReactComponent,
  type ReactNode,
  Suspense,
  use,
  useEffect,
  useEffectEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { connection } from "../api/connection.ts";
import { CodeError, loadAhead } from "../code-loading.ts";
import { Button } from "./Button.tsx";
import { classes } from "./classes.ts";
import dialogStyles from "./Dialog.module.css";
import { type LazyCode, lazyCode } from "./lazy-code.tsx";
import { Loading, Notice } from "./Notice.tsx";

/** The component of a route, which the router loads by `preload` before it shows it. */
export function lazyPage<Name extends string>(
  load: () => Promise<{ readonly [Key in Name]: ComponentType }>,
  name: Name,
  { isAhead = true }: { readonly isAhead?: boolean } = {},
) {
  const code = lazyCode(async () => (await load())[name]);
  const preload = async () => {
    code.restart();
    await code.load();
  };
  if (isAhead) loadAhead(preload);
  return Object.assign(() => <LazyContent code={code} props={{}} />, { preload });
}

interface LazyProps<Props> {
  readonly code: LazyCode<Props>;
  readonly props: Props;
}

function LazyContent<Props extends object>({ code, props }: LazyProps<Props>) {
  const Content = code.current() ?? use(code.load());
  return <Content {...props} />;
}

interface DialogProps {
  readonly onClose: () => void;
}

/** How often a part was tried, and a function that tries again. */
function useAttempts({ restart }: { readonly restart: () => void }) {
  const [attempt, setAttempt] = useState(0);
  const retry = () => {
    restart();
    setAttempt(attempt + 1);
  };
  return { attempt, retry };
}

/** A dialog whose code is loaded when it is opened. If that fails, a dialog says so and offers to try again. */
export function LazyDialog<Props extends DialogProps>({ code, props }: LazyProps<Props>) {
  const { attempt, retry } = useAttempts(code);
  return (
    <CodeBoundary
      key={attempt}
      failed={(error) => <DialogFailed error={error} retry={retry} onClose={props.onClose} />}
    >
      <Suspense>
        <LazyContent code={code} props={props} />
      </Suspense>
    </CodeBoundary>
  );
}

interface DialogFailedProps extends DialogProps {
  readonly error: CodeError;
  readonly retry: () => void;
}

/** An element of the browser's own: code for other dialogs may be what is missing. */
function DialogFailed({ error, retry, onClose }: DialogFailedProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // Closing gives the focus back, as long as the element is in the document.
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={classes(dialogStyles.dialog, dialogStyles.native)}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={id}>This could not be loaded</h2>
      <p role="alert">{codeErrorText(error)}</p>
      <div className={dialogStyles.dialogActions}>
        <Button onClick={onClose}>Close</Button>
        <CodeRetry error={error} retry={retry} />
        <RetryWhenReconnected error={error} retry={retry} />
      </div>
    </dialog>
  );
}

interface LazyPartProps<Props> extends LazyProps<Props> {
  /** What it is, for the text while it is loaded. */
  readonly what: string;
}

/** A part of a page whose code is loaded when it is shown. If that fails, it says so in its place and offers to try again. */
export function LazyPart<Props extends object>({ code, props, what }: LazyPartProps<Props>) {
  const { attempt, retry } = useAttempts(code);
  return (
    <CodeBoundary
      key={attempt}
      failed={(error) => (
        <Notice tone="error">
          <p>{codeErrorText(error)}</p>
          <CodeRetry error={error} retry={retry} />
          <RetryWhenReconnected error={error} retry={retry} />
        </Notice>
      )}
    >
      <Suspense fallback={<Loading what={what} />}>
        <LazyContent code={code} props={props} />
      </Suspense>
    </CodeBoundary>
  );
}

export function codeErrorText({ reason }: CodeError): string {
  switch (reason) {
    case "unreachable":
      return "The service can't be reached. Check your connection and try again.";
    case "outdated":
      return "A new version of the dashboard is available. Reload to use it.";
    case "failed":
      return "A part of the dashboard could not be loaded. Reload to try again.";
  }
}

/** Tries again, or reloads the dashboard where only that can help. */
export function CodeRetry({ error, retry }: { readonly error: CodeError; readonly retry: () => void }) {
  return error.reason === "unreachable" ? (
    <Button look="primary" onClick={retry}>
      Try again
    </Button>
  ) : (
    <Button look="primary" onClick={() => location.reload()}>
      Reload
    </Button>
  );
}

/** Tries again by itself when the service can be reached again. */
export function RetryWhenReconnected({
  error,
  retry,
}: {
  readonly error: CodeError;
  readonly retry: () => void;
}) {
  const onChange = useEffectEvent(() => {
    if (!connection.isLost()) retry();
  });
  const onShown = useEffectEvent(() => {
    if (error.wasConnectionLost) onChange();
  });
  useEffect(() => {
    const unsubscribe = connection.subscribe(() => onChange());
    // The connection may have come back between the failure and its being shown.
    onShown();
    return unsubscribe;
  }, []);
  return null;
}

interface CodeBoundaryProps {
  readonly failed: (error: CodeError) => ReactNode;
  readonly children: ReactNode;
}

/** Shows what failed in the place of the children whose code could not be loaded. */
class CodeBoundary extends ReactComponent<CodeBoundaryProps, { readonly error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    if (error instanceof CodeError) return this.props.failed(error);
    throw error;
  }
}
