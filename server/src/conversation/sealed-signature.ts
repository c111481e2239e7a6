import { isJsonObject, parseJsonObject } from "../json/json.ts";
import type { Sealer } from "../secrets/sealer.ts";
import type { Signature } from "./conversation.ts";

/** A signature, and the id of the tool call that it belongs to; `null` for that of a thought. */
export interface CarriedSignature {
  readonly signature: Signature;
  readonly callId: string | null;
}

/** Encrypts what clients carry for providers. */
export interface SignatureSealer {
  seal(carried: CarriedSignature): string;
  /** `null` for what {@link seal} has not returned, such as a provider's own signature. */
  open(sealed: string): CarriedSignature | null;
}

/** The field that has the text of a thought that its client does not see. */
export const UNSEEN_TEXT = "ostiary_text";
/** The field that names the call. It is not a part of the provider's signature. */
const CALL_ID = "ostiary_call_id";

/** Creates the sealer of an account's signatures. `context` names the account: what was sealed for another one does not open. */
export function signatureSealer(sealer: Sealer, context: string): SignatureSealer {
  return {
    seal: ({ signature: { provider, fields }, callId }) => {
      const carried = { provider, fields: callId === null ? fields : { ...fields, [CALL_ID]: callId } };
      return sealer.seal(JSON.stringify(carried), context);
    },
    open: (sealed) => {
      const text = sealer.open(sealed, context);
      const opened = text === null ? null : parseJsonObject(text);
      if (opened === null || typeof opened.provider !== "string" || !isJsonObject(opened.fields)) return null;
      const { [CALL_ID]: callId = null, ...fields } = Object.fromEntries(
        Object.entries(opened.fields).filter(
          (field): field is [string, string] => typeof field[1] === "string",
        ),
      );
      return { signature: { provider: opened.provider, fields }, callId };
    },
  };
}
