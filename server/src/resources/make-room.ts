/**
 * Who makes room in a full queue for one more of an owner: the latest of the owner that has the most, so that one owner's many do not keep others out.
 *
 * @returns `null` if the new one's owner would then have as many.
 */
export function latestOfMost<Queued, Owner>(
  queued: readonly Queued[],
  ownerOf: (queued: Queued) => Owner,
  newOwner: Owner,
): Queued | null {
  const counts = new Map<Owner, number>();
  for (const one of queued) counts.set(ownerOf(one), (counts.get(ownerOf(one)) ?? 0) + 1);
  const most = Math.max(...counts.values());
  if ((counts.get(newOwner) ?? 0) + 1 >= most) return null;
  return queued.findLast((one) => counts.get(ownerOf(one)) === most) ?? null;
}

/** Makes room for one more in a set or a map of at most `max`: drops what was added first. */
export function dropOldest<Key>(
  kept: { readonly size: number; keys(): Iterator<Key>; delete(key: Key): boolean },
  max: number,
): void {
  if (kept.size < max) return;
  const oldest = kept.keys().next();
  if (oldest.done !== true) kept.delete(oldest.value);
}
