import { EARLY_RESPONSE_SIGNS } from "../../conversation/response-format.ts";
import { signatureSealer } from "../../conversation/sealed-signature.ts";
import type { WireRequest } from "../../conversation/wire.ts";
import type { JsonBody } from "../../json/json-body.ts";
import type { Sealer } from "../../secrets/sealer.ts";
import { newId } from "./output-items.ts";
import { type ReadResponses, readResponses } from "./read-responses.ts";
import { ResponsesWriter } from "./responses-writer.ts";

export interface ResponsesOptions {
  readonly stream: boolean;
  /** Whether the response is to be stored. */
  readonly isStored: boolean;
  readonly previousResponseId: string | null;
  /** The number of items of earlier responses that the input begins with. */
  readonly firstOwn: number;
  /** Seals what providers want back. */
  readonly sealer: Sealer;
  /** What sealed texts are bound to: the account. */
  readonly sealContext: string;
}

/** A request of the Responses API, as `operations/responses-body.ts` has checked it. References to what is stored are resolved. */
export function responsesRequest(body: JsonBody, options: ResponsesOptions): WireRequest {
  const { stream, isStored, previousResponseId, firstOwn, sealer, sealContext } = options;
  const signatures = signatureSealer(sealer, sealContext);
  const owned = {
    // Responses are stored by their ids, and some upstreams give each response the same one.
    ...(isStored ? { id: newId("resp") } : {}),
    store: isStored,
    previous_response_id: previousResponseId,
  };
  let found: ReadResponses | null = null;
  const read = () => {
    found ??= readResponses(body.value, signatures, firstOwn);
    return found;
  };
  return {
    wire: "responses",
    body,
    owned,
    headers: {},
    stream,
    includeUsage: true,
    early: EARLY_RESPONSE_SIGNS,
    conversation: () => read().conversation,
    writer: (head) =>
      new ResponsesWriter({
        head,
        tools: read().tools,
        body: body.value,
        owned,
        isStreamed: stream,
        signatures,
      }),
  };
}
