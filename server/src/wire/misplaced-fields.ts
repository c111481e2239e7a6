import { cannot } from "../conversation/conversation.ts";
import type { JsonObject } from "../json/json.ts";

/**
 * Refuses fields of another format that this one has under a name of its own, as the format's own provider does. Left out, they would
 * change the answer unnoticed: it would have another form, or be longer than the client allows.
 *
 * @param ownNames What this format calls the fields.
 * @throws {Failure} `invalid_request` naming the field.
 */
export function refuseMisplaced(body: JsonObject, ownNames: ReadonlyMap<string, string>): void {
  for (const [name, own] of ownNames) {
    const value = body[name];
    if (value !== undefined && value !== null) throw cannot(name, `is a field of another API. Use ${own}`);
  }
}
