/**
 * The data of each event of a stream of server-sent events, as it comes (WHATWG HTML, section 9.2.6). Comments, by which the
 * service shows that it is still there, are passed over; an event that is not ended is none.
 */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of linesOf(body)) {
    if (line === "") {
      if (data.length > 0) yield data.join("\n");
      data = [];
    } else if (line === "data") data.push("");
    else if (line.startsWith("data:")) data.push(line.slice("data:".length).replace(/^ /, ""));
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      // A line ends in CR, LF or both: of a CR that is the last so far it can't be told yet.
      const lines = rest.split(done ? /\r\n|\n|\r/ : /\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      yield* lines;
      if (done) return;
    }
  } finally {
    // Of whoever leaves early: the service should not go on for nobody. Where it has ended there is nothing to cancel.
    await reader.cancel().catch(() => {});
  }
}
