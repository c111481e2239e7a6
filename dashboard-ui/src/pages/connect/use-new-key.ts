import { useBlocker } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useState } from "react";
import { flushSync } from "react-dom";
import { client } from "../../api/client.ts";
import { useKept } from "../../components/use-kept-draft.ts";
import { useKeyCreation } from "../keys/use-key-creation.ts";

const SUGGESTED_NAME = "my-app";

/** A key that is created on the page. Only the page's memory holds its string, which goes when the page is left. */
export type NewKey = ReturnType<typeof useNewKey>;

/** Creates a key on the page. Leaving the page needs a confirmation until the key is stored. */
export function useNewKey() {
  const [name, setName] = useKept("of the name of a key on the page", SUGGESTED_NAME);
  const [isStored, setStored] = useState(false);
  const creation = useKeyCreation("a key on the page", (idempotencyKey) =>
    client.keys.create.mutate({ name, idempotencyKey }),
  );
  const mustStore = creation.created !== null && !isStored;
  const leaving = useBlocker({
    // Filters are part of the address and may change.
    shouldBlockFn: ({ current, next }) => mustStore && current.pathname !== next.pathname,
    enableBeforeUnload: () => mustStore,
    withResolver: true,
  });
  // Browsers keep a page that is left, and show it as it was when its user goes back.
  const onHide = useEffectEvent(() => {
    if (!isStored) return;
    flushSync(() => {
      creation.forget();
      setStored(false);
    });
  });
  useEffect(() => {
    const hide = () => onHide();
    addEventListener("pagehide", hide);
    return () => removeEventListener("pagehide", hide);
  }, []);
  return {
    ...creation,
    name,
    setName,
    isStored,
    setStored,
    mustStore,
    leaving,
  };
}
