import type { Signature } from "../../conversation/conversation.ts";
import { asksForEncrypted, EARLY_RESPONSE_SIGNS } from "../../conversation/response-format.ts";
import { openSignature, sealSignature, type TextSealer } from "../../conversation/sealed-signature.ts";
import type { AnswerHead, WireRequest } from "../../conversation/wire.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { newId } from "./output-items.ts";
import type { OpenedSignature } from "./read-items.ts";
import { type ReadResponses, readResponses } from "./read-responses.ts";
import { repeatedFields } from "./response-fields.ts";
import { ResponsesWriter } from "./responses-writer.ts";

export interface ResponsesOptions {
  readonly stream: boolean;
  /** Whether the response is to be stored. */
  readonly isStored: boolean;
  readonly previousResponseId: string | null;
  /** The number of items of earlier responses that the input begins with. */
  readonly firstOwn: number;
  /** Seals what providers want back. */
  readonly sealer: TextSealer;
  /** What sealed texts are bound to: the account. */
  readonly sealContext: string;
}

/** The field of a signature that names the call which it belongs to. No provider has it. */
const CALL_ID = "ostiary_call_id";

/** A request of the Responses API, as `operations/responses-body.ts` has checked it. References to what is stored are resolved. */
export function responsesRequest(body: JsonBody, options: ResponsesOptions): WireRequest {
  const { isStored, previousResponseId, firstOwn, sealer, sealContext } = options;
  const owned = {
    // Responses are stored by their ids, and some upstreams give each response the same one.
    ...(isStored ? { id: newId("resp") } : {}),
    store: isStored,
    previous_response_id: previousResponseId,
  };
  const open = (sealed: string) => opened(openSignature(sealed, sealer, sealContext));
  let found: ReadResponses | null = null;
  const read = () => {
    found ??= readResponses(body.value, { open, firstOwn });
    return found;
  };
  const writer = (head: AnswerHead) => {
    const showsEncrypted = asksForEncrypted(body.value.include);
    return new ResponsesWriter({
      head,
      tools: read().tools,
      repeated: repeatedFields(body.value),
      owned,
      isStreamed: options.stream,
      showsEncrypted,
      isSealing: showsEncrypted || isStored,
      seal: (signature, callId) => sealSignature(withCall(signature, callId), sealer, sealContext),
    });
  };
  return {
    wire: "responses",
    body,
    owned,
    headers: {},
    stream: options.stream,
    includeUsage: true,
    early: EARLY_RESPONSE_SIGNS,
    conversation: () => read().conversation,
    writer,
  };
}

function withCall({ provider, fields }: Signature, callId: string | null): Signature {
  return { provider, fields: callId === null ? fields : { ...fields, [CALL_ID]: callId } };
}

function opened(signature: Signature | null): OpenedSignature | null {
  if (signature === null) return null;
  const { [CALL_ID]: callId, ...fields } = signature.fields;
  return { signature: { provider: signature.provider, fields }, callId: callId ?? null };
}
