/**
 * The data of each server-sent event of a body
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Holds one event at a time.
 */
export async function* eventData(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  // Not every `fetch` ends a body by the request's signal. Cancelled, a read under way comes back as the end.
  const cancel = () => {
    reader.cancel().catch(() => {});
  };
  signal?.addEventListener("abort", cancel, { once: true });
  let rest = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const text = rest + decoder.decode(value, { stream: true });
      // A carriage return at the very end may be half of a CRLF.
      const complete = text.endsWith("\r") ? text.length - 1 : text.length;
      const lines = text.slice(0, complete).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? "") + text.slice(complete);
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
        }
      }
    }
  } finally {
    // Left early: the service learns that nobody listens any more. Not awaited, for a body that someone else reads
    // too (a `fetch` that clones answers for its log) is only cancelled when they are done; nor can one that broke be.
    cancel();
    signal?.removeEventListener("abort", cancel);
  }
}
