import { OstiaryError } from "./errors.ts";

/** Returns a path below `/v1`, which may have a query. @throws {OstiaryError} the path leads elsewhere. */
export function checkedPath(path: string): string {
  // Anything else could lead to another endpoint or host, which would get the API key.
  if (leadsBelow(path)) return path;
  throw new OstiaryError('The path must begin with one slash and lead below /v1, such as "/models".');
}

/** The path without its query, which may contain a secret. */
export function withoutQuery(path: string): string {
  return path.split(/[?#]/, 1)[0] ?? "";
}

function leadsBelow(path: string): boolean {
  try {
    const plain = decodeURIComponent(withoutQuery(path));
    // A proxy may decode a slash or backslash that the URL leaves encoded.
    if (!/^\/[^/]/.test(plain) || /\\|\/\/|\/\.\.?(\/|$)/.test(plain)) return false;
    return decodeURIComponent(new URL(`http://x/v1${path}`).pathname) === `/v1${plain}`;
  } catch {
    // A percent sign does not begin an encoded character.
    return false;
  }
}
