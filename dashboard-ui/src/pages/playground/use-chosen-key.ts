import { useState } from "react";
import type { ListedKey } from "../../api/types.ts";
import { browserStore } from "../../components/storage.ts";

const KEPT_AS = "playground-key";

/** The key that requests are made with: the one chosen last in this browser, as long as it works. */
export function useChosenKey(
  active: readonly ListedKey[],
): readonly [ListedKey | undefined, (id: string) => void] {
  const [chosen, setChosen] = useState(() => browserStore.read(KEPT_AS));
  const choose = (id: string) => {
    // Its id: the key string is nowhere in the dashboard.
    browserStore.write(KEPT_AS, id);
    setChosen(id);
  };
  return [active.find(({ id }) => id === chosen) ?? active[0], choose];
}
