/** A comment, which readers of server-sent events pass over. */
export const HEARTBEAT = ": waiting\n\n";
export const HEARTBEAT_MS = 15_000;

/** The answer, if it comes before it is time for a sign of life. */
export async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, HEARTBEAT_MS, null);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
