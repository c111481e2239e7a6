import { useState } from "react";
import type { ListedKey } from "../../api/types.ts";
import { browserStore } from "../../components/storage.ts";

const KEPT_AS = "playground-key";

/** The key for requests: the one chosen last in this browser, while it is active. */
export function useChosenKey(
  active: readonly ListedKey[],
): readonly [ListedKey | undefined, (id: string) => void] {
  const [chosen, setChosen] = useState(() => browserStore.read(KEPT_AS));
  const choose = (id: string) => {
    // Only the id is stored. The dashboard never has the key string.
    browserStore.write(KEPT_AS, id);
    setChosen(id);
  };
  return [active.find(({ id }) => id === chosen) ?? active[0], choose];
}
