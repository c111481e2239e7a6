import { type ServerResponse, STATUS_CODES } from "node:http";
import type { ResponseHeaders } from "../operations/operation.ts";

/** A longer body is not copied behind its head. */
const MAX_BODY_LENGTH = 64 * 1024;
/** Characters that no value of a header may contain, or that take more than one byte. */
const NOT_PLAIN = /[^\x20-\x7e]/;
/** How long a connection stays open for the client's next request. Whole seconds, because the header names them. */
const KEEP_ALIVE_SECONDS = 65;
export const KEEP_ALIVE_MS = KEEP_ALIVE_SECONDS * 1_000;
const KEEP_ALIVE = `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_SECONDS}\r\n`;

const SENT = "sent";

/** A property of Node's response that is not public: its head, as text. */
type WithHead = ServerResponse & { _header: string | null };

/**
 * Sends an answer as one text: the head that Node would write, and the body behind it. Node checks and joins a head header by header,
 * and writes an empty piece after the body, which takes as long as a third of a refusal.
 *
 * Returns `false`, and has done nothing, where the answer is not an ordinary one: a connection that is to be closed, HTTP/1.0, a body
 * or value that is not ASCII, a long body. Then {@link ServerResponse.writeHead} knows what to do. `headers` have names in lower case, none of
 * them about the connection or the length.
 */
export function sendWhole(
  response: ServerResponse,
  status: number,
  headers: readonly ResponseHeaders[],
  body: string,
): boolean {
  if (!isOrdinary(response) || body.length > MAX_BODY_LENGTH || Buffer.byteLength(body) !== body.length)
    return false;
  const head = headOf(status, headers, `content-length: ${body.length}\r\n`);
  if (head === null || !begin(response, status, `${head}\r\n${body}`)) return false;
  response.end();
  return true;
}

/**
 * Gives a stream the head that Node would write. It is sent with the first chunk. Returns `false`, and has done nothing, for the connections,
 * versions and values with which {@link sendWhole} does nothing. Then {@link ServerResponse.writeHead} knows what to do.
 */
export function beginStream(
  response: ServerResponse,
  status: number,
  headers: readonly ResponseHeaders[],
): boolean {
  if (!isOrdinary(response)) return false;
  const head = headOf(status, headers, "");
  if (head === null || !begin(response, status, `${head}Transfer-Encoding: chunked\r\n\r\n`)) return false;
  response.chunkedEncoding = true;
  return true;
}

/**
 * Removes the head of an answer that has been sent: it consists of many texts, which an open stream would keep in memory. Node only looks whether
 * there is one.
 */
export function forgetHead(response: ServerResponse): void {
  (response as WithHead)._header = SENT;
}

/** An answer of plain ASCII, values and body, on a connection that stays open: the text that {@link sendWhole} sends. */
export function wholeAnswer(status: number, headers: readonly ResponseHeaders[], body: string): string {
  return `${headText(status, headers, `content-length: ${body.length}\r\n`)}\r\n${body}`;
}

function isOrdinary({ req, shouldKeepAlive }: ServerResponse): boolean {
  return shouldKeepAlive && req.httpVersionMinor === 1 && req.method !== "HEAD";
}

/** A head but for its last line; `null` if a header has a value that is not plain. */
function headOf(status: number, headers: readonly ResponseHeaders[], length: string): string | null {
  for (const group of headers) {
    for (const name in group) if (NOT_PLAIN.test(group[name] ?? "")) return null;
  }
  return headText(status, headers, length);
}

function headText(status: number, headers: readonly ResponseHeaders[], length: string): string {
  // Node writes this word for a status without a name, such as 529.
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
  for (const group of headers) {
    for (const name in group) head += `${name}: ${group[name]}\r\n`;
  }
  return `${head}${length}Date: ${dateNow()}${KEEP_ALIVE}`;
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
