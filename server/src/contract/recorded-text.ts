import { withoutSecrets } from "../secrets/redact.ts";

/** Text without control characters and without halves of surrogate pairs: text in the database can't hold all of these. */
export const RECORDABLE = /^[^\p{Cc}\p{Cs}]*$/u;
/** What an input says that is not {@link RECORDABLE}. */
export const RECORDABLE_ERROR = "must not contain control characters";

const UNRECORDABLE = /[\p{Cc}\p{Cs}]/gu;

/** A client's text as it may be recorded and logged: without secrets, and with U+FFFD in the place of each character that is not {@link RECORDABLE}. */
export function recordable(text: string): string {
  return withoutSecrets(text.replace(UNRECORDABLE, "\u{fffd}"));
}
