import { Failure } from "../errors/failure.ts";

/** The fields by which a request refers to what is stored. */
export type ReferenceField = "previous_response_id" | "input";

/** Characters of an id that a message repeats. */
const MAX_SHOWN = 64;

/** The failure of a request for a response that the account does not have. `isStoring`: whether the service stores responses. */
export function unknownResponse(id: string, isStoring: boolean): Failure {
  const reason = isStoring
    ? "It was deleted, has expired, or never existed."
    : "This service stores no responses.";
  return new Failure("not_found", `The account has no response \`${shown(id)}\`. ${reason}`);
}

/** The failure of a request that refers to a response or an item that the account does not have. */
export function unknownReference(kind: "response" | "item", id: string, isStoring: boolean): Failure {
  const param: ReferenceField = kind === "response" ? "previous_response_id" : "input";
  const reason = isStoring
    ? `The account has no ${kind} \`${shown(id)}\`.`
    : `This service stores no responses, so there is no ${kind} \`${shown(id)}\`.`;
  return new Failure("not_found", `${reason} Send the full history.`, { param });
}

export function chainTooLong(max: number): Failure {
  const message = `More than ${max} responses follow each other. Send the history in \`input\` instead.`;
  return new Failure("invalid_request", message, { param: "previous_response_id" });
}

export function tooManyReferences(max: number): Failure {
  const message = `A request may refer to ${max} items at most. Send the items themselves.`;
  return new Failure("invalid_request", message, { param: "input" });
}

export function historyTooLarge(param: ReferenceField): Failure {
  const message =
    "The stored responses that the request refers to are larger than a request may be. Start a new conversation, with a summary of this one.";
  return new Failure("request_too_large", message, { param });
}

export function tooManyValues(param: ReferenceField): Failure {
  const message =
    "The request and the stored responses that it refers to hold more values, objects or names than a request may. Send less, or start a new conversation.";
  return new Failure("request_too_large", message, { param });
}

/** An id as a message may repeat it. */
function shown(id: string): string {
  return id.replace(/[^!-~]|`/g, "\u{fffd}").slice(0, MAX_SHOWN);
}
