import { useState } from "react";
import type { ListedKey } from "../../api/types.ts";
import { browserStore } from "../../components/storage.ts";
import { keyFor } from "./choose-key.ts";

const KEPT_AS = "playground-key";

/** The key for requests, and a function to choose it. The choice is remembered in this browser. */
export function useChosenKey(
  active: readonly ListedKey[],
): readonly [ListedKey | undefined, (id: string) => void] {
  const [chosen, setChosen] = useState(() => browserStore.read(KEPT_AS));
  const choose = (id: string) => {
    // Only the id is stored. The dashboard never has the key string.
    browserStore.write(KEPT_AS, id);
    setChosen(id);
  };
  return [keyFor(active, chosen), choose];
}
