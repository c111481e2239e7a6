/** The requested wait in milliseconds, from the answer's headers. */
export function retryAfterMsOf(headers: Headers): number | null {
  const exact = numberOf(headers.get("retry-after-ms"));
  if (exact !== null) return exact;
  const text = headers.get("retry-after");
  const seconds = numberOf(text);
  if (seconds !== null) return seconds * 1_000;
  // `Date.parse` accepts many texts, such as "-1". An HTTP date begins with the name of a day.
  const date = text !== null && /^[A-Z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}

/** The number that a header has, or the first one of a header that was sent twice; `null` for any other text. */
export function numberOf(text: string | null): number | null {
  const number = /^\d+(\.\d+)?(?=,|$)/.exec(text ?? "")?.[0];
  return number === undefined ? null : Number(number);
}
