import type { SecurityEventId } from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";

/** Where reading goes on: after an event that was last seen then. */
export interface SecurityCursor {
  readonly lastAt: Date;
  readonly id: SecurityEventId;
}

// Milliseconds since 1970, and a UUID.
const CURSOR = /^(\d{1,15})~([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/;

export function cursorText({ lastAt, id }: SecurityCursor): string {
  return `${lastAt.getTime()}~${id}`;
}

/** @throws {Failure} `invalid_request` when it is none of ours. */
export function readCursor(text: string): SecurityCursor {
  const [, lastAt, id] = CURSOR.exec(text) ?? [];
  if (lastAt !== undefined && id !== undefined) {
    return { lastAt: new Date(Number(lastAt)), id: id as SecurityEventId };
  }
  throw new Failure(
    "invalid_request",
    "The cursor is not valid. Pass the cursor of an earlier answer unchanged.",
    { param: "cursor" },
  );
}
