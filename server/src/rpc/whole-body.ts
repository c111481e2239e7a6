import { Failure } from "../errors/failure.ts";

/**
 * The request with its body read, so that nothing of it is still on its way.
 *
 * @throws {Failure} `request_too_large` beyond `maxBytes`, whatever its headers say; `request_timeout` when it does not
 *   end in time.
 */
export async function withWholeBody(
  request: Request,
  maxBytes: number,
  patienceMs: number,
): Promise<Request> {
  if (request.body === null) return request;
  const reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> = request.body.getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooSlow = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Failure("request_timeout", "The body did not arrive in time. Send it again.")),
      patienceMs,
    );
  });
  try {
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    for (let bytes = 0; ; ) {
      const { done, value } = await Promise.race([reader.read(), tooSlow]);
      if (done) break;
      bytes += value.byteLength;
      if (bytes > maxBytes) {
        throw new Failure("request_too_large", `The body exceeds ${maxBytes} bytes. Send less.`);
      }
      chunks.push(value);
    }
    const { url, method, headers } = request;
    return new Request(url, { method, headers, body: new Blob(chunks) });
  } catch (error) {
    // What else comes is not wanted.
    void reader.cancel().catch(() => {});
    if (error instanceof Failure) throw error;
    throw new Failure("request_timeout", "The body did not arrive whole. Send it again.", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
