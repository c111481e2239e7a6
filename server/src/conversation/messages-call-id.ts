/** What Anthropic accepts in the id of a call. Other providers use more. */
const NOT_OF_ID = /[^a-zA-Z0-9_-]/g;

/** The id of a call as the Messages API takes it, other than those of other calls. */
export function messagesCallId(id: string, isTaken: (id: string) => boolean): string {
  const cleaned = id.replace(NOT_OF_ID, "_");
  let own = cleaned;
  for (let number = 1; own === "" || isTaken(own); number++) own = `${cleaned}_${number}`;
  return own;
}
