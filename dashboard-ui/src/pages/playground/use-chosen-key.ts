import { keepPreviousData, skipToken, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";
import { browserStore } from "../../components/storage.ts";
import { keyFor } from "./choose-key.ts";

const KEPT_AS = "playground-key";

/** The key for requests, and a function to choose it. The choice is remembered in this browser. */
export function useChosenKey(listed: readonly ListedKey[]) {
  const [chosenId, setChosenId] = useState(() => browserStore.read(KEPT_AS));
  // The chosen key, and the keys that listed ones replace: those are in a rotation, too.
  const wanted = [chosenId, ...listed.map(({ replaces }) => replaces)];
  const ids = [...new Set(wanted)].filter((id) => id !== null && !listed.some((key) => key.id === id));
  const others = useQuery(
    api.keys.get.queryOptions(ids.length === 0 ? skipToken : { ids: ids.flatMap((id) => id ?? []) }, {
      placeholderData: keepPreviousData,
    }),
  );
  const found = ids.length === 0 ? [] : (others.data?.keys ?? []);
  const keys = [...listed, ...found].filter(({ state }) => state === "active");
  const isKnown = ids.length === 0 || (!others.isLoading && !others.isPlaceholderData);
  const choose = (id: string) => {
    // Only the id is stored. The dashboard never has the key string.
    browserStore.write(KEPT_AS, id);
    setChosenId(id);
  };
  return { keys, key: isKnown ? keyFor(keys, chosenId) : undefined, choose };
}
