import type { Signature } from "../../conversation/conversation.ts";
import { openSignature, sealSignature, type TextSealer } from "../../conversation/sealed-signature.ts";

/** The sealer of what clients carry in thinking blocks, for one account. */
export interface ThoughtSealer {
  readonly sealer: TextSealer;
  /** Nothing that was sealed for another account opens. */
  readonly context: string;
}

/** A signature, and the id of the tool call that it belongs to; `null` for that of a thought. */
export interface CarriedSignature {
  readonly signature: Signature;
  readonly callId: string | null;
}

/** The field that names the call. It is not a part of the provider's signature. */
const CALL = "ostiary_call";

/**
 * Seals a signature for a thinking block. The Messages API has no place for what a provider wants back with a tool call, so that it goes
 * into a thinking block that names the call.
 */
export function sealCarried(
  { signature, callId }: CarriedSignature,
  { sealer, context }: ThoughtSealer,
): string {
  const fields = callId === null ? signature.fields : { ...signature.fields, [CALL]: callId };
  return sealSignature({ ...signature, fields }, sealer, context);
}

/** Opens what {@link sealCarried} has sealed; `null` for anything else, such as a provider's own signature. */
export function openCarried(sealed: string, { sealer, context }: ThoughtSealer): CarriedSignature | null {
  const opened = openSignature(sealed, sealer, context);
  if (opened === null) return null;
  const { [CALL]: callId = null, ...fields } = opened.fields;
  return { signature: { ...opened, fields }, callId };
}
