import type { Endpoint, OpenedBy } from "./endpoint.ts";
import { exactPath } from "./routing.ts";

/** An operation that the dashboard's pages have too, at a path of their own: answered alike, opened by a session. */
export function atDashboard(
  endpoint: Endpoint,
  path: `/dashboard/${string}`,
  openedBy: Extract<OpenedBy, "session" | "session-as-key">,
): Endpoint {
  return {
    method: endpoint.method,
    name: `${endpoint.method} ${path}`,
    openedBy,
    match: exactPath(path),
    answer: (request) => endpoint.answer(request),
  };
}
