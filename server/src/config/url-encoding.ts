/** What to do with a URL of a store whose user or password ends too early. The URL itself is never repeated: it has a password. */
export const ENCODE_PASSWORD =
  "percent-encode special characters of the password, such as %40 for @ and %2F for /";

const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)(?<rest>.*)$/is;

/**
 * Whether the URL of a store seems to have a password with characters that end it too early. What follows would then be taken for the path,
 * and be shown where only the password is left out.
 */
export function hasUnencodedPassword(url: string): boolean {
  const { authority = "", rest = "" } = AUTHORITY.exec(url)?.groups ?? {};
  const user = authority.slice(0, Math.max(0, authority.lastIndexOf("@")));
  return rest.includes("@") || rest.includes("#") || !canDecode(user);
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
