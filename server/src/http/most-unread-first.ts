/** What a client has not read of an answer. */
interface Unread {
  readonly network: string;
  readonly bytes: number;
}

/**
 * Sorts answers into the order in which they are dropped when too many bytes are unread: first the network with the most unread bytes, and within a
 * network the largest answer first.
 */
export function mostUnreadFirst<Answer>(
  answers: Iterable<Answer>,
  unreadOf: (answer: Answer) => Unread,
): readonly Answer[] {
  const all = Array.from(answers, (answer) => ({ answer, ...unreadOf(answer) }));
  const ofNetwork = new Map<string, number>();
  for (const { network, bytes } of all) ofNetwork.set(network, (ofNetwork.get(network) ?? 0) + bytes);
  const bytesAt = (network: string) => ofNetwork.get(network) ?? 0;
  return all
    .sort((one, other) => bytesAt(other.network) - bytesAt(one.network) || other.bytes - one.bytes)
    .map(({ answer }) => answer);
}
