/** What to do with a URL of a store whose user or password ends too early. The URL itself is never repeated: it has a password. */
export const ENCODE_PASSWORD =
  "percent-encode special characters of the password, such as %40 for @ and %2F for /";

/** What is asked of a port that no server can listen on. */
export const PORT_RANGE = "must have a port from 1 to 65535";

/** The port after a host name or an IPv6 address in brackets. */
const PORT = /^(?:\[[^\]]*\]|[^:]*):(?<port>\d+)$/;
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

/** What is wrong with the port in the URL of a store whose password is encoded; `null`: nothing. */
export function portProblem(url: string): string | null {
  const { authority = "" } = AUTHORITY.exec(url)?.groups ?? {};
  const port = PORT.exec(authority.slice(authority.lastIndexOf("@") + 1))?.groups?.port;
  return port === undefined || isPort(Number(port)) ? null : PORT_RANGE;
}

/** Whether a server can listen on a port. */
export function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535;
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
