import { Failure } from "../errors/failure.ts";

/**
 * Refuses a state-changing request that another site's page has made the browser send. Requests from outside a
 * browser have neither header, and no cookie that a page could abuse.
 *
 * @throws {Failure} `permission_denied`
 */
export function requireSameOrigin(request: Request, publicOrigin: string | null): void {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  const crossSite = site !== null && site !== "same-origin" && site !== "none";
  if (crossSite || (origin !== null && origin !== (publicOrigin ?? ownOrigin(request)))) {
    throw new Failure(
      "permission_denied",
      "The request came from another site's page. Open the dashboard at its own address and try again.",
    );
  }
}

/** Where no public address is configured, the page must have come from the host that it now speaks to. */
function ownOrigin(request: Request): string {
  const url = new URL(request.url);
  return `${url.protocol}//${request.headers.get("host") ?? url.host}`;
}
