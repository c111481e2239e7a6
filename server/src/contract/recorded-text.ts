import { holdsSecret, withoutSecrets } from "../secrets/redact.ts";

/**
 * Text without control characters, halves of surrogate pairs and separators of lines. The database can't hold all of these. Many readers of lines,
 * such as httpx in Python and newer versions of Node's readline, end a line of an export at U+2028 and U+2029 too, which JSON does not escape.
 */
export const RECORDABLE = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u;
/** What an input says that is not {@link RECORDABLE}. */
export const RECORDABLE_ERROR = "must not contain control characters or line separators";

/** The maximum length of the name of an endpoint in an entry. */
const MAX_ENDPOINT_LENGTH = 256;
const UNRECORDABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A client's text as it may be recorded and logged: without secrets, and with U+FFFD in the place of each character that is not {@link RECORDABLE}. */
export function recordable(text: string): string {
  return withoutSecrets(text.replace(UNRECORDABLE, "\u{fffd}"));
}

/** A path as it may be recorded and logged. `path`: as it was sent. If it contains a secret, none of it is left. */
export function recordablePath(path: string): string {
  return holdsSecret(path) ? "/…" : recordable(path);
}

/** The method and path of a request, as its entry names them if it is for no operation with a name. `path`: as it was sent. */
export function recordedEndpoint(method: string, path: string): string {
  return `${method} ${recordablePath(path)}`.slice(0, MAX_ENDPOINT_LENGTH);
}
