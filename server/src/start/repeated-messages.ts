/** The maximum number of messages that are remembered. A server has few different errors. Beyond this number, each counts as new. */
const MAX_MESSAGES = 100;

/** Returns a function that passes a message on, with its details, unless it has passed on the same one in the last `intervalMs` milliseconds. */
export function atMostOnceIn<Details extends readonly unknown[]>(
  intervalMs: number,
  monotonicMs: () => number,
  pass: (message: string, ...details: Details) => void,
): (message: string, ...details: Details) => void {
  const passedMs = new Map<string, number>();
  return (message, ...details) => {
    const nowMs = monotonicMs();
    const lastMs = passedMs.get(message);
    if (lastMs !== undefined && nowMs - lastMs < intervalMs) return;
    if (passedMs.size >= MAX_MESSAGES) passedMs.clear();
    passedMs.set(message, nowMs);
    pass(message, ...details);
  };
}
