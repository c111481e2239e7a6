import type { ChatBody } from "./chat-state.ts";

/** The length from which the data of an attachment is too long to read as code. */
const MAX_LENGTH = 2_000;
const DATA_URL = /^data:[a-z0-9.+/-]+;base64,/i;

/** The request with long data of attachments left out, so that it can be shown as code. */
export function shortened(body: ChatBody): { readonly body: ChatBody; readonly isShortened: boolean } {
  let isShortened = false;
  const text = JSON.stringify(body, (_, value: unknown) => {
    if (typeof value !== "string" || value.length <= MAX_LENGTH) return value;
    const head = DATA_URL.exec(value)?.[0];
    if (head === undefined) return value;
    isShortened = true;
    return `${head}…`;
  });
  return { body: JSON.parse(text), isShortened };
}
