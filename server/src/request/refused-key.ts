import { eventOfRefusedKey } from "../access/refused-key.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";
import type { RequestContext } from "./request-context.ts";

/** Notes the security event of a request that was refused for its key. Other failures are passed over. */
export function noteRefusedKey(request: RequestContext, thrown: unknown, security: SecurityEvents): void {
  const showedKey = request.exchange.header("authorization").length > 0;
  if (thrown instanceof Failure && thrown.code === "invalid_api_key") request.isWithoutKnownKey = true;
  const event = eventOfRefusedKey(thrown, showedKey, request.sourceIp);
  if (event !== null) security.note(event);
}
