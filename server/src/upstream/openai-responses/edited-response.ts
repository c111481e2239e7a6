import { asksForEncrypted, responseUsageOf } from "../../conversation/response-format.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Changes, JsonBody } from "../../json/json-body.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import type { ForwardCall } from "../dialect.ts";
import { readResponsesUsage } from "../openai/usage.ts";

/** Edits an upstream's responses for the client. Everything that is not named here stays as it is. */
export class ResponseEditor {
  readonly #changes: JsonObject;
  readonly #hidesEncrypted: boolean;

  constructor({ request, publicModel }: ForwardCall) {
    this.#changes = { model: publicModel, ...request.owned };
    this.#hidesEncrypted = !asksForEncrypted(request.body.value.include);
  }

  /** A response for the client. `usage`: fills in what the upstream does not tell. */
  edited(response: JsonBody, usage: Usage | null, more: JsonObject = {}): string {
    const { output } = response.value;
    const changes = { ...this.#changesOf(response, usage), ...more };
    const isHidden = this.#hidesEncrypted && Array.isArray(output) && output.some(holdsEncrypted);
    return response.textWith(isHidden ? { output: output.map(withoutEncrypted), ...changes } : changes);
  }

  /** A response as the service stores it: with encrypted reasoning, which the upstream needs to continue it. */
  stored(response: JsonBody, usage: Usage | null, more: JsonObject = {}): string {
    return response.textWith({ ...this.#changesOf(response, usage), ...more });
  }

  /** An item for the client; `null` if it stays as it is. */
  editedItem(item: Json | undefined): Json | null {
    return this.#hidesEncrypted && item !== undefined && holdsEncrypted(item) ? withoutEncrypted(item) : null;
  }

  #changesOf(response: JsonBody, usage: Usage | null): Changes {
    const { usage: own } = response.value;
    const reported = readResponsesUsage(own);
    // Clients rely on the details.
    if (reported !== null && hasDetails(own)) return this.#changes;
    const known = reported ?? usage;
    return known === null ? this.#changes : { ...this.#changes, usage: responseUsageOf(known) };
  }
}

function hasDetails(usage: Json | undefined): boolean {
  return (
    isJsonObject(usage) &&
    isJsonObject(usage.input_tokens_details) &&
    isJsonObject(usage.output_tokens_details)
  );
}

function holdsEncrypted(item: Json): boolean {
  return isJsonObject(item) && item.type === "reasoning" && typeof item.encrypted_content === "string";
}

function withoutEncrypted(item: Json): Json {
  if (!holdsEncrypted(item) || !isJsonObject(item)) return item;
  const { encrypted_content: _, ...rest } = item;
  return rest;
}
