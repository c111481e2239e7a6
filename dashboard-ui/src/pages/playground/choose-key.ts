/** What the choice of a key depends on. */
interface KeyToChoose {
  readonly id: string;
  readonly rotation: { readonly successorId: string } | null;
}

/** The ids of the keys of unfinished rotations: predecessors and their successors. */
export function keysInRotation(active: readonly KeyToChoose[]): ReadonlySet<string> {
  return new Set(active.flatMap(({ id, rotation }) => (rotation === null ? [] : [id, rotation.successorId])));
}

/**
 * The key for requests: the chosen one while it is active, else the newest that is not in a rotation, because the rotation guide
 * watches the traffic of those keys. `undefined` if the user has to choose.
 *
 * @param active The active keys, newest first.
 */
export function keyFor<Key extends KeyToChoose>(
  active: readonly Key[],
  chosenId: string | null,
): Key | undefined {
  const rotating = keysInRotation(active);
  return active.find(({ id }) => id === chosenId) ?? active.find(({ id }) => !rotating.has(id));
}
