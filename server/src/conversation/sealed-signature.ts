import { isJsonObject, parseJsonObject } from "../json/json.ts";
import type { Signature } from "./conversation.ts";

/** Encrypts short texts that clients keep for the service. */
export interface TextSealer {
  /** `context` has to be the same when the text is opened. */
  seal(text: string, context: string): string;
  /** `null` for a text that this installation has not sealed in that context. */
  open(sealed: string, context: string): string | null;
}

/** A signature as a client gets it, to be sent back with its part. Only this installation can open it. */
export function sealSignature(signature: Signature, sealer: TextSealer, context: string): string {
  return sealer.seal(JSON.stringify(signature), context);
}

/** Opens what {@link sealSignature} has sealed; `null` for anything else, such as a provider's own signature. */
export function openSignature(sealed: string, sealer: TextSealer, context: string): Signature | null {
  const text = sealer.open(sealed, context);
  const opened = text === null ? null : parseJsonObject(text);
  if (opened === null || typeof opened.provider !== "string" || !isJsonObject(opened.fields)) return null;
  const fields = Object.entries(opened.fields).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  return { provider: opened.provider, fields: Object.fromEntries(fields) };
}
