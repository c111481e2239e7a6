/** An event larger than this is not a model's answer. */
const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;

/**
 * The `data` of each server-sent event of a byte stream, several data lines joined by newlines
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Comments and other fields are passed over.
 * Holds one event at a time.
 *
 * @throws {Error} when an event exceeds 16 Mi characters.
 */
export async function* readEventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  for await (const chunk of bytes) {
    const text = rest + decoder.decode(chunk, { stream: true });
    // A carriage return at the very end may be half of a CRLF.
    const complete = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, complete).split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? "") + text.slice(complete);
    if (rest.length > MAX_EVENT_CHARACTERS) throw new Error("a server-sent event is too large");
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield data.join("\n");
        data = [];
      } else if (line.startsWith("data:")) {
        data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      }
    }
  }
  // Some servers leave out the last blank line.
  const last = rest.replace(/\r$/, "");
  if (last.startsWith("data:")) data.push(last.slice(last.startsWith("data: ") ? 6 : 5));
  if (data.length > 0) yield data.join("\n");
}
