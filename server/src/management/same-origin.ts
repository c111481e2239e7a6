import { Failure } from "../errors/failure.ts";

/**
 * Refuses a state-changing request that another site's page has made the browser send. Requests from outside a
 * browser have neither header, and no cookie that a page could abuse.
 *
 * @throws {Failure} `permission_denied`
 */
export function requireSameOrigin(headers: Pick<Headers, "get">, publicOrigin: string | null): void {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  const crossSite = site !== null && site !== "same-origin" && site !== "none";
  if (crossSite || (origin !== null && origin !== (publicOrigin ?? ownOrigin(headers)))) {
    throw new Failure(
      "permission_denied",
      "The request came from a page of another site. Open the dashboard at its own address and try again.",
    );
  }
}

/** Where no public address is configured, the page must have come from the host that it now speaks to, over HTTP. */
function ownOrigin(headers: Pick<Headers, "get">): string {
  return `http://${headers.get("host") ?? ""}`;
}
