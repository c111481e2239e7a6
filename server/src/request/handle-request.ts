import { BudgetedAnswerMemory } from "../admission/budgeted-answer-memory.ts";
import type { CatalogModel } from "../catalog/catalog.ts";
import type { AccountId } from "../contract/account.ts";
import type { JsonBody } from "../json/json-body.ts";
import { unknownModel } from "../operations/models.ts";
import type { ModelOperation, ModelUse } from "../operations/operation.ts";
import type { Reply } from "../operations/reply.ts";
import {
  authenticate,
  authorize,
  authorizeAndAdmit,
  callerOfSentKey,
  requireStillAllowed,
} from "./authenticate.ts";
import { findModel } from "./find-model.ts";
import { findOperation, type Unserved } from "./find-operation.ts";
import { costBasisOf, holdCredit } from "./hold-credit.ts";
import { claimOrReplay, keepAnswer, readIdempotencyKey } from "./idempotent-reply.ts";
import { receiveBody } from "./receive-body.ts";
import { recordBeginning, releaseClaim } from "./record.ts";
import type { RequestContext } from "./request-context.ts";
import { respond, respondFailure } from "./respond.ts";
import { runManagement } from "./run-management.ts";
import type { Services } from "./services.ts";

/**
 * The lifecycle of a request under `/v1` and `/dashboard` that the process has the capacity to serve. Whatever happens, the request is
 * answered and, if its key is known, recorded. If an answer can't be sent, the connection is closed.
 */
export async function handleRequest(request: RequestContext, services: Services): Promise<void> {
  try {
    const reply = await replyTo(request, services);
    releaseBody(request, reply);
    await respond(request, reply, services); // records and settles before the last byte is sent
  } catch (thrown) {
    await respondFailure(request, thrown, services);
  } finally {
    const ended = endRequest(request);
    if (ended !== null) await ended;
  }
}

/**
 * Carries out a request and returns its reply. Each step throws a `Failure` to end the request; the comments name the statuses. It is separate from
 * {@link handleRequest}, so that a body is not kept in memory while its answer is streamed, except for the values that its tokens are counted from.
 */
async function replyTo(request: RequestContext, services: Services): Promise<Reply> {
  const { exchange } = request;
  const { operation, parameters } = findOperation(request, services.operations);
  // This comes before the check of the recorder's capacity, so that a key can be revoked under any load.
  if (operation.kind === "management") {
    return await runManagement(request, operation, parameters, services); // 401 and other 4xx
  }
  services.recorder.requireCapacity(); // 503
  if (operation.kind === "unserved") return await refuseUnserved(request, operation, services); // 401, 403, 404, 405, 503
  if (operation.kind === "public") {
    await noteCallerOfSentKey(request, services); // 503
    return await operation.run();
  }
  const identity = await authenticate(request, operation, services); // 401, 503; of a user at the dashboard also 400, 403, 404
  requireCapacityForAccount(request, services); // 503
  if (operation.kind === "query") {
    const accountId = await authorize(request, identity, services); // 401, 403, 503
    const input = operation.read({
      parameters,
      query: exchange.query,
      header: (name) => exchange.header(name),
    }); // 400
    const requireAllowed = () => requireStillAllowed(request, identity, services);
    return await operation.run({ input, accountId, signal: request.signal, requireAllowed });
  }

  const received = await receiveBody(request, operation, services); // 401, 403, 503 if the key is refused by now, or cannot be checked
  const { bytes, tokens } = received;
  // A request does not count against the limits if nothing of its body was received.
  const accountId =
    tokens === null
      ? await authorize(request, identity, services) // 401, 403, 503
      : await authorizeAndAdmit(request, identity, tokens, services); // 401, 403, 429, 503
  const body = received.parse(); // 400, 408, 413, 415, 429, 503: what was wrong with the body, after the key's own refusal
  const input = operation.read(body); // 400
  const model = findModel(request, input.model, services);
  const idempotencyKey = readIdempotencyKey(exchange.header("idempotency-key")); // 400
  if (idempotencyKey !== null) {
    const sent = { accountId, key: idempotencyKey, body: bytes };
    const replayed = await claimOrReplay(request, sent, services); // 409, 422, 503
    if (replayed !== null) return replayed;
  }
  // The answer to an earlier request is repeated even if the model was removed from the catalog since.
  if (model === null) throw unknownModel("model"); // 404
  // Not awaited: the received bytes stay in memory until this function has returned, and a model may take long to answer.
  return runModel(request, operation, { accountId, body, input, model, bodyBytes: bytes.length }, services);
}

/** A request for a model whose body was checked and which is to be answered now. */
interface CheckedRequest {
  readonly accountId: AccountId;
  readonly body: JsonBody;
  /** The length of the body as it was received. */
  readonly bodyBytes: number;
  /** The fields of the body that the operation has read. */
  readonly input: ModelUse;
  readonly model: CatalogModel;
}

/** Holds credit for a request, sends it to its model and returns the answer. The comments name the statuses, as in {@link replyTo}. */
async function runModel(
  request: RequestContext,
  operation: ModelOperation<ModelUse>,
  { accountId, body, bodyBytes, input: checked, model }: CheckedRequest,
  services: Services,
): Promise<Reply> {
  const input = operation.loadStored === undefined ? checked : await operation.loadStored(checked, accountId); // 400, 404, 413, 503
  if (input.storedBytes !== undefined) request.body?.addStored(input.storedBytes); // 429, 503
  const costBasis = costBasisOf(
    operation.isFree === true ? { ...model, prices: null } : model,
    input,
    bodyBytes,
  );
  const holding = holdCredit(request, accountId, costBasis, services); // 402, 503
  const paid = holding instanceof Promise ? await holding : holding;
  request.begun = recordBeginning(request, services); // leaves an entry even if the process dies
  services.overload.served(); // from here on the request waits for a model
  const { exchange, startedMs, signal } = request;
  const memory = new BudgetedAnswerMemory(services.bodies.account(accountId), signal, request.body);
  request.answerMemory = memory;
  const call = { input, accountId, exchange, body, paid, signal, startedMs, memory };
  const reply = await operation.run(call); // 400, 429, 502, 503, 504
  return keepAnswer(request, reply);
}

/**
 * Refuses a request that no operation serves. Where the path has operations that take a credential, its refusal comes first: 401, 403, 503. Then
 * follow 404 and 405.
 */
async function refuseUnserved(
  request: RequestContext,
  { auth, failure }: Unserved,
  services: Services,
): Promise<never> {
  if (auth === null) {
    await noteCallerOfSentKey(request, services);
    request.isWithoutKnownKey = request.caller === null;
  } else {
    const identity = await authenticate(request, { auth }, services);
    requireCapacityForAccount(request, services);
    await authorize(request, identity, services);
  }
  throw failure;
}

/** Notes in whose log a request is recorded that needs no key, but may have one. */
async function noteCallerOfSentKey(request: RequestContext, services: Services): Promise<void> {
  request.caller = await callerOfSentKey(request, services);
  requireCapacityForAccount(request, services);
}

/** Refuses an account whose entries fill the recorder. The refusal is not recorded, as its entry would be one more. */
function requireCapacityForAccount(request: RequestContext, { recorder }: Services): void {
  if (request.caller === null) return;
  try {
    recorder.requireCapacity(request.caller.snapshot.account.id);
  } catch (thrown) {
    request.needsNoEntry = true;
    throw thrown;
  }
}

/** Releases the memory of the body that an answer does not need. A stream that begins before its upstream has answered still needs all of it. */
function releaseBody({ body }: RequestContext, reply: Reply): void {
  if (reply.kind === "whole") body?.release();
  else if (reply.isEarly !== true) body?.releaseForStream();
}

/** Releases what the request still holds, however it has ended. `null`: there is nothing to wait for. */
function endRequest(request: RequestContext): Promise<unknown> | null {
  request.signal.abort("ended");
  request.body?.release();
  request.answerMemory?.release();
  // A request that was not recorded is not charged.
  request.hold?.settle(0n);
  return request.claim === null
    ? endAdmitted(request)
    : releaseClaim(request).then(() => endAdmitted(request));
}

/** Frees the slot of a request that was admitted. What was recorded has done so. `null`: there is nothing to wait for. */
function endAdmitted({ permission }: RequestContext): Promise<void> | null {
  return permission?.admitted?.end(null) ?? null;
}
