import type { Logger } from "pino";
import { type Caller, type Permission, RefusedCaller } from "../access/access.ts";
import type { Networks } from "../access/networks.ts";
import type { BodyBudget } from "../admission/body-budget.ts";
import { type InFlightItem, NOWHERE } from "../admission/in-flight.ts";
import { IncomingBody } from "../admission/incoming-body.ts";
import { rateHeaders } from "../admission/rate-headers.ts";
import { type AuditEntry, type EndReason, type EntryId, requestIdOf, timeOfEntry } from "../audit/entry.ts";
import type { BegunRequest, Recorder } from "../audit/recorder.ts";
import type { Hold } from "../credits/allowance.ts";
import { envelopeOf, Failure, headersOf, toFailure } from "../errors/failure.ts";
import { RequestAbort } from "../gateway/request-signal.ts";
import type { Claim } from "../idempotency/idempotency.ts";
import { eventOfRefusedKey } from "../security/refused-key.ts";
import type { SecurityEvents } from "../security/security-event.ts";
import { clientAddress } from "./client-address.ts";
import { type Endpoint, type EntryFacts, JSON_HEADERS, NO_FACTS, type Reply } from "./endpoint.ts";
import type { Exchange, ResponseHeaders } from "./exchange.ts";
import { tokensOfBytes } from "./json-body.ts";
import { identify, type Opening, type OpeningParts } from "./opening.ts";
import type { Overload } from "./overload.ts";
import { findEndpoint } from "./routing.ts";
import { begunWhen, Streaming } from "./streaming.ts";

export interface PassageParts extends OpeningParts {
  readonly endpoints: readonly Endpoint[];
  readonly recorder: Recorder;
  readonly bodies: BodyBudget;
  readonly overload: Overload;
  readonly security: SecurityEvents;
  /** To be told of each request with a known key that has ended, and of what its client sent of its own trace. */
  readonly traced: (entry: AuditEntry, traceparent: string | null) => void;
  readonly trustedProxies: Networks;
  readonly log: Logger;
  readonly newId: () => EntryId;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

/** What an entry holds where nobody was left to be answered: nginx's code for it. */
const CLIENT_CLOSED_REQUEST = 499;

/** To parse a body above this size is dear enough to be counted by its bytes even if the request is refused then. */
const FREE_REFUSED_BYTES = 64 * 1024;

/** One request on its way through the plane. */
export class Passage implements InFlightItem {
  inFlightAt = NOWHERE;
  readonly #parts: PassageParts;
  readonly #exchange: Exchange;
  readonly #id: EntryId;
  readonly #at: Date;
  readonly #startedMs: number;
  #endpointName: string | null = null;
  #isWithoutKnownKey = false;
  #opening: Opening | null = null;
  #body: IncomingBody | null = null;
  #hold: Hold | null = null;
  #begun: BegunRequest | null = null;
  readonly #unwanted = new RequestAbort();
  #isCutOff = false;
  /** Of a request that runs to completion even when its client leaves. */
  #claim: Claim | null = null;
  #recorded = false;
  #headSent = false;
  /** From where it comes, once that was asked; `null` where that can't be told. */
  #source: string | null | undefined;
  #streaming: Streaming | null = null;

  constructor(parts: PassageParts, exchange: Exchange) {
    this.#parts = parts;
    this.#exchange = exchange;
    this.#id = parts.newId();
    this.#at = timeOfEntry(this.#id);
    this.#startedMs = parts.monotonicMs();
    exchange.onClientGone(() => {
      if (this.#claim === null) this.#unwanted.abort();
    });
  }

  /** Gives a sign of life on a stream that has been silent for long, and refuses a body that is not to be waited for. */
  beat(): void {
    this.#body?.checkPace(this.#elapsedMs());
    if (this.#body?.isOver === false) void this.#checkSender(this.#body);
    this.#streaming?.beat();
  }

  cutOff(): void {
    this.#isCutOff = true;
    this.#unwanted.abort();
  }

  /** True of a request that was refused and stands in nobody's log, as no key was shown that is or was somebody's. */
  get isWithoutKnownKey(): boolean {
    return this.#isWithoutKnownKey;
  }

  async answer(): Promise<void> {
    const { endpoint, name, parameters } = findEndpoint(this.#parts.endpoints, this.#exchange);
    this.#endpointName = name;
    this.#parts.overload.requireCapacity();
    this.#parts.recorder.requireRoom();
    const identified = identify(this.#parts, endpoint.openedBy, this.#exchange);
    const opening = identified instanceof Promise ? await identified : identified;
    this.#opening = opening;
    if (opening.refusedKey) this.#noteRefusedKey(opening.refusedKey);
    if (endpoint.isServed === false && opening.caller === null) this.#isWithoutKnownKey = true;
    let reply: Reply;
    try {
      reply = await endpoint.answer({
        exchange: this.#exchange,
        parameters,
        readBody: (maxBytes) => this.#readBody(maxBytes),
        releaseBody: () => this.#body?.release(),
        confirm: (tokens) => opening.confirm(this.#address(), tokens ?? null),
        begin: (model, hold) => this.#begin(model, hold),
        runToCompletion: (claim) => {
          this.#claim = claim;
        },
        signal: this.#unwanted,
        elapsedMs: () => this.#elapsedMs(),
      });
    } catch (thrown) {
      // A request that was wrong in itself is still refused first for a key that may not pass.
      if (endpoint.openedBy !== "anyone") await opening.confirm(this.#address(), this.#bodyTokens());
      throw thrown;
    }
    await this.#send(reply);
  }

  /** Takes no place any more, however the request has ended. */
  async leave(): Promise<void> {
    // Nothing goes on for it after this, whoever was left waiting.
    this.#unwanted.abort();
    this.#body?.release();
    // What was not recorded is not charged.
    this.#hold?.settle(0n);
    await this.#releaseClaim();
    await this.#permission?.admitted?.end(null);
  }

  #readBody(maxBytes: number): Promise<Uint8Array> {
    const caller = this.#opening?.caller ?? null;
    if (caller === null) throw new Error("only a caller with a key sends a body");
    const { access } = this.#parts;
    // Who may not pass must not take the place of the account's other requests.
    if (!access.seemsRefused(caller, this.#address())) return this.#receive(caller, maxBytes);
    return access.confirm(caller, this.#address()).then(() => this.#receive(caller, maxBytes));
  }

  #receive({ snapshot: { account } }: Caller, maxBytes: number): Promise<Uint8Array> {
    const declared = this.#exchange.header("content-length")[0];
    const body = new IncomingBody({
      sender: this.#parts.bodies.account(account.id),
      maxBodies: this.#parts.access.limitsOf(account).concurrentRequests,
      declaredBytes: declared === undefined ? null : Number(declared),
      maxBytes,
    });
    this.#body = body;
    return body.receive((receiver) => this.#exchange.receive(receiver));
  }

  /** Refuses a body whose sender may not pass any more, as their key was revoked while it came. */
  async #checkSender(body: IncomingBody): Promise<void> {
    const caller = this.#opening?.caller ?? null;
    if (caller === null) return;
    try {
      await this.#parts.access.confirm(caller, this.#address());
    } catch (thrown) {
      // What can't be told now is asked again when the body is whole.
      if (thrown instanceof RefusedCaller) body.refuse(thrown);
    }
  }

  /** What a body that was read takes of the account's limits although its request is refused; `null`: there is none. */
  #bodyTokens(): number | null {
    const bytes = this.#body?.wholeBytes ?? null;
    return bytes === null ? null : tokensOfBytes(bytes);
  }

  #begin(model: string, hold: Hold): void {
    this.#hold = hold;
    const lost = this.#entryOf(LOST, { ...NO_FACTS, model });
    if (lost !== null) this.#begun = this.#parts.recorder.begin(lost);
  }

  get #permission(): Permission | null {
    return this.#opening?.permission ?? null;
  }

  #address(): string | null {
    if (this.#source === undefined) this.#source = this.#readAddress();
    return this.#source;
  }

  #readAddress(): string | null {
    const forwardedFor = this.#exchange.header("x-forwarded-for");
    return clientAddress(this.#exchange.peer, forwardedFor, this.#parts.trustedProxies);
  }

  /** Answers with an error; what was refused to somebody's key is recorded too. */
  async fail(thrown: unknown): Promise<void> {
    const failure = thrown instanceof RefusedCaller ? thrown.failure : toFailure(thrown);
    this.#logFault(failure);
    this.#noteRefusedKey(thrown);
    // Whatever still goes on for it is wanted by nobody.
    this.#unwanted.abort();
    if (this.#headSent) return;
    try {
      await this.#recordFailure(failure, "refused", NO_FACTS);
      await this.#respondFailure(failure);
    } catch (error) {
      await this.#lastWords(toFailure(error));
    }
  }

  #noteRefusedKey(thrown: unknown): void {
    const showedKey = this.#exchange.header("authorization").length > 0;
    if (thrown instanceof Failure && thrown.code === "invalid_api_key") this.#isWithoutKnownKey = true;
    const event = eventOfRefusedKey(thrown, showedKey, this.#address());
    if (event !== null) this.#parts.security.note(event);
  }

  async #send(reply: Reply): Promise<void> {
    switch (reply.kind) {
      case "whole":
        await this.#record({ status: 200, errorCode: null, endReason: this.#endOfWhole() }, reply.facts);
        return await this.#respond(200, reply.headers, reply.body);
      case "stream":
        return await this.#sendStream(reply);
      case "failed": {
        const { facts } = reply;
        const failure = this.#isCutOff ? stopping() : reply.failure;
        const endReason = this.#isCutOff ? "shutdown" : reply.endReason;
        this.#logFault(failure);
        await this.#recordFailure(failure, endReason, facts);
        return await this.#respondFailure(failure);
      }
    }
  }

  async #sendStream(reply: Extract<Reply, { kind: "stream" }>): Promise<void> {
    const exchange = this.#exchange;
    // What can't be written down to have begun must not begin.
    const begun = this.#begun;
    const isWritten = begun === null || begun.writtenIn !== null;
    const wanted = exchange.method === "HEAD" ? NO_CHUNKS : reply.chunks;
    const chunks = isWritten ? wanted : await begunWhen(begun.segment, wanted);
    this.#headSent = true;
    const sink = exchange.stream(200, this.#identified(reply.headers));
    const takesHeartbeats = reply.atFailure === "event";
    const streaming = new Streaming(sink, { takesHeartbeats, monotonicMs: this.#parts.monotonicMs });
    this.#streaming = streaming;
    let failure: Failure | null = null;
    let ending: Ending = { status: 200, errorCode: null, endReason: "stop" };
    try {
      await streaming.send(chunks, () => exchange.isClientGone && this.#claim === null);
    } catch (thrown) {
      failure = this.#isCutOff ? stopping() : reply.failureOf(thrown);
      ending = { ...ending, errorCode: failure.code, endReason: this.#endReasonOf(failure) };
    }
    if (exchange.isClientGone) ending = { status: 200, errorCode: null, endReason: "client_gone" };
    try {
      await this.#record(ending, await reply.facts());
    } catch (thrown) {
      // The client must not take for whole what could not be recorded.
      failure ??= toFailure(thrown);
    }
    if (failure !== null) {
      this.#logFault(failure);
      // A stream that merely ended would be taken for success.
      if (reply.atFailure === "abort") return streaming.abort();
    }
    const last = failure === null ? reply.lastChunk : `data: ${JSON.stringify(envelopeOf(failure))}\n\n`;
    await streaming.end(last);
  }

  #endOfWhole(): EndReason {
    return this.#exchange.isClientGone ? "client_gone" : "stop";
  }

  #endReasonOf(failure: Failure): EndReason {
    if (this.#isCutOff) return "shutdown";
    if (failure.status < 500) return "refused";
    return failure.code === "upstream_timeout" ? "timeout" : "upstream_error";
  }

  async #recordFailure(failure: Failure, endReason: EndReason, facts: EntryFacts): Promise<void> {
    const ending: Ending = this.#exchange.isClientGone
      ? { status: CLIENT_CLOSED_REQUEST, errorCode: null, endReason: "client_gone" }
      : { status: failure.status, errorCode: failure.code, endReason };
    await this.#record(ending, facts);
  }

  async #record(ending: Ending, facts: EntryFacts): Promise<void> {
    const { usage } = facts;
    const isRefused = ending.endReason === "refused";
    // Who has seen this answer end may have the next one.
    const left = this.#permission?.admitted?.end(
      usage === null
        ? isRefused && !this.#isLarge()
          ? 0
          : null
        : usage.promptTokens + usage.completionTokens,
    );
    const entry = this.#recorded ? null : this.#entryOf(ending, facts);
    if (entry !== null) {
      this.#recorded = true;
      const { stored } = await this.#parts.recorder.record(entry, this.#begun);
      // It is in the journal, and will be charged whatever happens from here on.
      this.#hold?.settle(facts.costNanoUsd);
      if (entry.keyed !== undefined) this.#claim = null;
      this.#parts.traced(entry, this.#exchange.header("traceparent")[0] ?? null);
      if (stored !== null) await stored;
    }
    // Who is told that the request came to nothing may send it again at once.
    await this.#releaseClaim();
    // Which does not fail: it was asked for first, and ends while the entry is written.
    await left;
  }

  #isLarge(): boolean {
    return (this.#body?.wholeBytes ?? 0) > FREE_REFUSED_BYTES;
  }

  async #releaseClaim(): Promise<void> {
    const claim = this.#claim;
    this.#claim = null;
    await claim?.release();
  }

  /** `null` when it is nobody's: the caller is not known. */
  #entryOf(ending: Ending, facts: EntryFacts): AuditEntry | null {
    const caller = this.#opening?.caller ?? null;
    if (caller === null || this.#endpointName === null) return null;
    const { key, account } = caller.snapshot;
    const { status, errorCode, endReason } = ending;
    // Each by its name: what is spread is defined one by one, at run time.
    const entry: AuditEntry = {
      id: this.#id,
      accountId: account.id,
      key: key.id,
      keyId: key.keyId,
      at: this.#at,
      endpoint: this.#endpointName,
      model: facts.model,
      upstream: facts.upstream,
      usageSource: facts.usageSource,
      promptTokens: facts.usage?.promptTokens ?? null,
      completionTokens: facts.usage?.completionTokens ?? null,
      cachedTokens: facts.usage?.cachedTokens ?? null,
      costNanoUsd: facts.costNanoUsd,
      latencyMs: this.#elapsedMs(),
      timeToFirstTokenMs: facts.timeToFirstTokenMs,
      sourceIp: this.#address(),
      wouldRefuse: this.#permission?.wouldRefuse ?? null,
      status,
      errorCode,
      endReason,
    };
    return this.#withCharge(entry, facts);
  }

  /** What the journal has to know beside, of requests that cost something or have an idempotency key. */
  #withCharge(entry: AuditEntry, { costNanoUsd, implausibleNanoUsd = 0n, kept }: EntryFacts): AuditEntry {
    const spender = this.#hold?.spender ?? null;
    const isAnswered =
      entry.status === 200 && (entry.endReason === "stop" || entry.endReason === "client_gone");
    const keyed = isAnswered && kept !== undefined ? this.#claim?.answered(kept) : undefined;
    if (costNanoUsd === 0n && implausibleNanoUsd === 0n && keyed === undefined) return entry;
    return {
      ...entry,
      ...(spender === null || costNanoUsd === 0n ? {} : { spender }),
      ...(implausibleNanoUsd === 0n ? {} : { implausibleNanoUsd }),
      ...(keyed === undefined ? {} : { keyed }),
    };
  }

  /** The entry could not be kept, so the answer can't be the one that was meant. */
  async #lastWords(failure: Failure): Promise<void> {
    this.#logFault(failure);
    await this.#respondFailure(failure);
  }

  #respondFailure(failure: Failure): Promise<void> {
    const headers = { ...JSON_HEADERS, ...headersOf(failure) };
    return this.#respond(failure.status, headers, JSON.stringify(envelopeOf(failure)));
  }

  #respond(status: number, headers: ResponseHeaders, body: string): Promise<void> {
    this.#headSent = true;
    return this.#exchange.respond(status, this.#identified(headers), body);
  }

  #identified(headers: ResponseHeaders): ResponseHeaders {
    const identified = { ...headers, "x-request-id": requestIdOf(this.#id) };
    const admitted = this.#permission?.admitted ?? null;
    return admitted === null ? identified : Object.assign(identified, rateHeaders(admitted.rates));
  }

  #elapsedMs(): number {
    return Math.round(this.#parts.monotonicMs() - this.#startedMs);
  }

  #logFault(failure: Failure): void {
    if (failure.status < 500 || this.#exchange.isClientGone) return;
    const level = failure.code === "internal_error" ? "error" : "warn";
    this.#parts.log[level](
      { requestId: requestIdOf(this.#id), code: failure.code, err: failure.cause },
      "a request failed",
    );
  }
}

/** What is answered to HEAD. The endpoint's own chunks are made as they are read, and so never. */
const NO_CHUNKS: AsyncIterable<string> = (async function* () {})();

type Ending = Pick<AuditEntry, "status" | "errorCode" | "endReason">;

/** How a request ends with the process that was answering it: what it came to is not known, so nothing is charged. */
const LOST: Ending = { status: 500, errorCode: "internal_error", endReason: "node_lost" };

function stopping(): Failure {
  return new Failure("server_is_overloaded", "The service is stopping. Send the request again.", {
    retryAfterMs: 1_000,
  });
}
