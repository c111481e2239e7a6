import { clientTransformer, writeProcedureData } from "../contract/procedure-data.ts";
import { aborted } from "./abort.ts";
import type { Answer } from "./answer.ts";
import { lastingProblem } from "./connection-problem.ts";
import { decimals } from "./decimals.ts";
import { errorForEvent, notFromService, streamOf } from "./error-answers.ts";
import { APIConnectionError, InternalServerError } from "./errors.ts";
import { untilLeft } from "./iteration.ts";
import { pause } from "./pause.ts";
import { backoffOf } from "./retry.ts";
import { serverSentEvents } from "./sse.ts";
import type { RequestOptions, Transport } from "./transport.ts";
import type { WireAnswer } from "./wire.ts";

/** An event of a subscription. */
export interface SubscribedEvent<Data = unknown> {
  /** Pass it as `lastEventId` to continue after this event. */
  readonly id: string;
  readonly data: Data;
}

/** The service sends a ping every 15 seconds. A connection that is silent for longer is lost. */
const MAX_SILENCE_MS = 40_000;
const MAX_RECONNECT_MS = 15_000;

/**
 * Iterates over the events of a subscription. After a lost connection it reconnects and continues after the last event. It ends when
 * the service ends it or the loop is left.
 *
 * @throws {APIError} the service has refused or ended the subscription with an error, or sent an event that cannot be read.
 * @throws {APIUserAbortError} `options.signal` was aborted.
 */
export function subscribe(
  transport: Transport,
  procedure: string,
  input: unknown,
  options: RequestOptions = {},
): AsyncGenerator<SubscribedEvent, void, undefined> {
  return untilLeft(options, async function* (own) {
    for await (const step of subscriptionSteps(transport, procedure, input, own)) {
      if (typeof step === "object") yield { id: step.id, data: decimals(step.data) };
    }
  });
}

/** What happens to a subscription: its events, and the states of its connection. */
export async function* subscriptionSteps(
  transport: Transport,
  procedure: string,
  input: unknown,
  options: RequestOptions,
): AsyncGenerator<SubscribedEvent | "connecting" | "connected", void, undefined> {
  let lastEventId = (input as { readonly lastEventId?: string } | undefined)?.lastEventId;
  let wasConnected = false;
  for (let failures = 0; ; ) {
    yield "connecting";
    const given = lastEventId === undefined ? input : { ...(input as object | undefined), lastEventId };
    // Later, it may be the page of a proxy while a node is replaced.
    const bodyOf = wasConnected ? ({ body }: WireAnswer) => body : streamOf;
    try {
      const answer = await connect(transport, procedure, given, options);
      for await (const step of eventsOf(answer, bodyOf, options.signal)) {
        if (step === "ended") return;
        if (step === "connected") wasConnected = true;
        else {
          lastEventId = step.id;
          failures = 0;
        }
        yield step;
      }
    } catch (error) {
      // While a node is replaced, a proxy in front of it answers with errors of its own.
      const mayPass = wasConnected && error instanceof InternalServerError;
      if (!(error instanceof APIConnectionError) && !mayPass) throw error;
      if (!wasConnected && lastingProblem(error) !== null) throw error;
    }
    // The service ends a subscription by an event of its own. Any other end is a lost connection.
    await pause(backoffOf(failures++, MAX_RECONNECT_MS), options.signal);
  }
}

/** The answer of a subscription, which has begun. */
function connect(
  transport: Transport,
  procedure: string,
  input: unknown,
  options: RequestOptions,
): Promise<Answer> {
  const query = input === undefined ? {} : { input: JSON.stringify(writeProcedureData(input)) };
  return transport.send(
    { method: "GET", path: `/trpc/${procedure}`, api: "management", query, accept: "text/event-stream" },
    { ...options, timeout: options.timeout ?? MAX_SILENCE_MS },
  );
}

/** The events of one connection. @param bodyOf The body of its answer, whose errors are thrown; `null` without one. */
async function* eventsOf(
  { wire, controller, release }: Answer,
  bodyOf: (wire: WireAnswer) => WireAnswer["body"],
  signal: RequestOptions["signal"],
): AsyncGenerator<SubscribedEvent | "connected" | "ended", void, undefined> {
  try {
    const body = bodyOf(wire);
    if (body === null) return;
    for await (const { event, id, data } of serverSentEvents(body, controller.signal, MAX_SILENCE_MS)) {
      switch (event) {
        case "connected":
          yield "connected";
          break;
        case "return":
          yield "ended";
          break;
        case "serialized-error":
          throw errorForEvent({ error: { json: dataOf(data, wire) } }, wire.headers);
        case "":
        case "message":
          yield { id, data: dataOf(data, wire) };
      }
    }
  } catch (error) {
    if (signal?.aborted) throw aborted(signal);
    throw error;
  } finally {
    release();
    controller.abort();
  }
  if (signal?.aborted) throw aborted(signal);
}

/** The typed data of an event. @throws {APIError} it is not from the service. */
function dataOf(text: string, wire: WireAnswer): unknown {
  try {
    return clientTransformer.deserialize(JSON.parse(text));
  } catch {
    throw notFromService(wire);
  }
}
