import { requestIdOf } from "../contract/entry.ts";
import type { JsonBody } from "../json/json-body.ts";
import { clientInfoOf } from "../management/caller.ts";
import { receiveWithin } from "../management/whole-body.ts";
import { networkOf } from "../networks/networks.ts";
import type { ManagementCall, ManagementOperation, PathParameters } from "../operations/operation.ts";
import type { Reply } from "../operations/reply.ts";
import { authenticate, authorize, type Identity } from "./authenticate.ts";
import { parseBody } from "./receive-body.ts";
import type { RequestContext } from "./request-context.ts";
import type { Services } from "./services.ts";

/**
 * Runs a management operation. As for procedures, the body arrives within a time limit, and the credential is checked once it is
 * complete, so that a right that was withdrawn meanwhile counts no more. What is wrong with the body is reported after a refused credential.
 *
 * @throws {RefusedCaller | Failure} 400, 401, 403, 408, 413, 415, 429, or as the operation.
 */
export async function runManagement(
  request: RequestContext,
  operation: ManagementOperation,
  parameters: PathParameters,
  services: Services,
): Promise<Reply> {
  const { id, exchange, sourceIp, signal } = request;
  const identity = await authenticate(request, operation, services);
  const body =
    operation.method === "GET"
      ? null
      : await receiveObject(request, operation, services).catch(async (thrown: unknown) => {
          await authorize(request, identity, services);
          throw thrown;
        });
  return await operation.run({
    requestId: requestIdOf(id),
    credential: await authorizedCredential(request, identity, services),
    clientInfo: clientInfoOf(sourceIp, exchange.header("user-agent")[0] ?? null),
    query: exchange.query,
    parameters,
    header: (name) => exchange.header(name),
    body,
    signal,
  });
}

/** Receives the body as a JSON object; `null` for an empty one. */
async function receiveObject(
  { exchange, sourceIp }: RequestContext,
  { maxBodyBytes }: ManagementOperation,
  { bodies }: Services,
): Promise<JsonBody | null> {
  const bytes = await receiveWithin(
    exchange.header("content-length")[0] ?? null,
    maxBodyBytes,
    bodies.address(networkOf(sourceIp)),
    (body) => exchange.receive(body),
  );
  return bytes.length === 0 ? null : parseBody(exchange, bytes);
}

/** The credential for the operation. A key is authorized here, a management token by the operation. */
async function authorizedCredential(
  request: RequestContext,
  identity: Identity,
  services: Services,
): Promise<ManagementCall["credential"]> {
  if (identity.kind === "management-token") return identity;
  await authorize(request, identity, services);
  const { permission } = request;
  if (permission === null) throw new Error("management operations take keys and management tokens only");
  return { kind: "key", permission };
}
