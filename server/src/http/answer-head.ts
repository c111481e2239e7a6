import { type ServerResponse, STATUS_CODES } from "node:http";
import { SECOND_MS } from "../../../sdk/src/contract/time-units.ts";

/** A longer body is not copied behind its head. */
const MAX_BODY_LENGTH = 64 * 1024;
/** Characters that no value of a header may contain, or that take more than one byte. */
const NOT_PLAIN = /[^\x20-\x7e]/;
const SENT = "sent";

/** The values of headers by their names. */
type HeaderValues = Readonly<Record<string, string>>;

/** A property of Node's response that is not public: its head, as text. */
type WithHead = ServerResponse & { _header: string | null };

/** Writes the answers of a listener whose connections stay open for a client's next request. */
export class AnswerHeads {
  /** How long a connection stays open. */
  readonly keepAliveMs: number;
  readonly #keepAlive: string;

  /** @param keepAliveS whole seconds, because each head names them. */
  constructor(keepAliveS: number) {
    this.keepAliveMs = keepAliveS * SECOND_MS;
    this.#keepAlive = `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${keepAliveS}\r\n`;
  }

  /**
   * Sends an answer as one text: the head that Node would write, and the body behind it. Node checks and joins a head header by header,
   * and writes an empty piece after the body, which takes as long as a third of a refusal.
   *
   * Returns `false`, and has done nothing, where the answer is not an ordinary one: a connection that is to be closed, HTTP/1.0, a body
   * or value that is not ASCII, a long body. Then {@link ServerResponse.writeHead} knows what to do. `headers` have names in lower case, none of
   * them about the connection or the length.
   */
  sendWhole(
    response: ServerResponse,
    status: number,
    headers: readonly HeaderValues[],
    body: string,
  ): boolean {
    if (!isOrdinary(response) || body.length > MAX_BODY_LENGTH || Buffer.byteLength(body) !== body.length)
      return false;
    if (!arePlain(headers) || !begin(response, status, this.wholeAnswer(status, headers, body))) return false;
    response.end();
    return true;
  }

  /** An answer of plain ASCII, values and body, on a connection that stays open: the text that {@link sendWhole} sends. */
  wholeAnswer(status: number, headers: readonly HeaderValues[], body: string): string {
    return `${this.#head(status, headers, `content-length: ${body.length}\r\n`)}\r\n${body}`;
  }

  /**
   * Gives a stream the head that Node would write. It is sent with the first chunk. Returns `false`, and has done nothing, for the connections,
   * versions and values with which {@link sendWhole} does nothing. Then {@link ServerResponse.writeHead} knows what to do.
   */
  beginStream(response: ServerResponse, status: number, headers: readonly HeaderValues[]): boolean {
    if (!isOrdinary(response) || !arePlain(headers)) return false;
    const head = `${this.#head(status, headers, "")}Transfer-Encoding: chunked\r\n\r\n`;
    if (!begin(response, status, head)) return false;
    response.chunkedEncoding = true;
    return true;
  }

  /** A head but for its last line. `length`: the line with the length of the body, if it is known. Node writes it before the date. */
  #head(status: number, headers: readonly HeaderValues[], length: string): string {
    // Node writes this word for a status without a name, such as 529.
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
    for (const group of headers) {
      for (const name in group) head += `${name}: ${group[name]}\r\n`;
    }
    return `${head}${length}Date: ${dateNow()}${this.#keepAlive}`;
  }
}

/**
 * Removes the head of an answer that has been sent: it consists of many texts, which an open stream would keep in memory. Node only looks whether
 * there is one.
 */
export function forgetHead(response: ServerResponse): void {
  (response as WithHead)._header = SENT;
}

function isOrdinary({ req, shouldKeepAlive }: ServerResponse): boolean {
  return shouldKeepAlive && req.httpVersionMinor === 1 && req.method !== "HEAD";
}

/** Whether no value of the headers needs more than one byte a character, or must not be sent. */
function arePlain(headers: readonly HeaderValues[]): boolean {
  for (const group of headers) {
    for (const name in group) if (NOT_PLAIN.test(group[name] ?? "")) return false;
  }
  return true;
}

/** Returns `false` on a Node without this property, which would send a head of its own. */
function begin(response: ServerResponse, status: number, text: string): boolean {
  (response as WithHead)._header = text;
  if (!response.headersSent) return false;
  response.statusCode = status;
  return true;
}

let dateSecond = 0;
let date = "";

/** The time in the format of HTTP (RFC 9110, section 5.6.7). */
function dateNow(): string {
  const second = Math.floor(Date.now() / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date().toUTCString();
  }
  return date;
}
