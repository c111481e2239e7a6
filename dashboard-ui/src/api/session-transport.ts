import { openSessionTransport } from "../../../sdk/src/session.ts";
import { watchedFetch } from "./connection.ts";

/** The SDK's transport for paths that a session may use. No answer is cached. */
export const sessionTransport = openSessionTransport({
  baseURL: `${location.origin}/dashboard`,
  fetch: (input, init) => watchedFetch(input, { ...init, cache: "no-store" }),
});
