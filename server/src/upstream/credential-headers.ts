import type { Credential } from "../catalog/credential.ts";
import type { HeaderList } from "./transport.ts";

/** The version of Anthropic's API that a request is for whose client names none. */
export const ANTHROPIC_VERSION = "2023-06-01";

/** A credential as most upstreams take it. `null`: the upstream needs none. */
export function bearerHeaders(credential: Credential | null): HeaderList {
  return credential === null ? [] : ["authorization", `Bearer ${credential.reveal()}`];
}

/** A credential as Anthropic's API takes it. */
export function anthropicHeaders(credential: Credential | null): HeaderList {
  return credential === null ? [] : ["x-api-key", credential.reveal()];
}

/** A credential as Google's API takes it. */
export function googleHeaders(credential: Credential | null): HeaderList {
  return credential === null ? [] : ["x-goog-api-key", credential.reveal()];
}
