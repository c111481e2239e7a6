import { openSessionTransport } from "../../../sdk/src/session.ts";
import { watchedFetch } from "./connection.ts";

/** The SDK's transport at the paths that a session opens. No answer is kept in a cache. */
export const sessionTransport = openSessionTransport({
  baseURL: `${location.origin}/dashboard`,
  fetch: (input, init) => watchedFetch(input, { ...init, cache: "no-store" }),
});
