/** What a client has not read of an answer. */
interface Unread {
  readonly network: string;
  readonly bytes: number;
}

/**
 * Answers in the order in which they are dropped when unread bytes exceed their maximum: those of the network with most unread bytes come first, and
 * of one network the longest.
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
