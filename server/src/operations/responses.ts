import type { AccountId } from "../contract/account.ts";
import { signatureSealer } from "../conversation/sealed-signature.ts";
import type { PaidCall } from "../credits/request-cost.ts";
import { BoundedParser } from "../json/bounded-parser.ts";
import { isJsonObject, type Json, type JsonObject } from "../json/json.ts";
import type { JsonBody } from "../json/json-body.ts";
import type { ResponseStore } from "../responses/response-store.ts";
import type { Sealer } from "../secrets/sealer.ts";
import { newId } from "../wire/responses/output-items.ts";
import { responsesRequest } from "../wire/responses/responses-request.ts";
import { invalid } from "./invalid-field.ts";
import { modelAnswer } from "./openapi-answers.ts";
import { body, errors, IDEMPOTENCY_KEY, MODEL_ERRORS, schemaOf } from "./openapi-parts.ts";
import type { ModelCall, ModelOperation, ModelUse } from "./operation.ts";
import {
  checkResponsesBody,
  isBareThought,
  isReference,
  MAX_OUTPUT_TOKENS_FIELDS,
  mediaInItems,
  responsesBody,
} from "./responses-body.ts";
import { type ModelOperationParts, runAnswer } from "./run-answer.ts";

export interface ResponsesParts extends ModelOperationParts {
  readonly responseStore: ResponseStore;
  readonly sealer: Sealer;
  /** Called when a response could not be stored. */
  readonly onNotStored: (error: unknown) => void;
}

/** A request. What it refers to is in {@link body} and {@link own} once it is resolved. */
interface ResponsesInput extends ModelUse {
  readonly stream: boolean;
  readonly isStored: boolean;
  readonly previousResponseId: string | null;
  /** The ids of the items that the request refers to. */
  readonly references: readonly string[];
  /** The body; once resolved with the stored items in place of the references. */
  readonly body: JsonBody;
  /** The request's own items, after {@link firstOwn} items of earlier responses. */
  readonly own: readonly Json[];
  readonly firstOwn: number;
}

/** `POST /v1/responses`. */
export function createResponse(parts: ResponsesParts): ModelOperation<ResponsesInput> {
  return {
    kind: "model",
    method: "POST",
    path: "/v1/responses",
    auth: "key",
    openapi: () => ({
      operationId: "createResponse",
      summary: "A response; with `stream` as server-sent events that end with the whole response",
      parameters: [IDEMPOTENCY_KEY],
      requestBody: body(schemaOf(responsesBody.schema)),
      responses: {
        200: modelAnswer("ModelResponse", "As OpenAI's responses", { isStreamable: true }),
        ...errors([...MODEL_ERRORS, "not_found"]),
      },
    }),
    maxBodyBytes: parts.maxBodyBytes,
    outputTokenFields: MAX_OUTPUT_TOKENS_FIELDS,
    read: (body) => readRequest(parts, body),
    loadStored: (input, accountId) => resolveRequest(parts, input, accountId),
    run: (call) => {
      const { input, accountId, paid } = call;
      const { stream, isStored, previousResponseId, firstOwn } = input;
      const request = responsesRequest(withinCredit(input.body, paid), {
        stream,
        isStored,
        previousResponseId,
        firstOwn,
        signatures: signatureSealer(parts.sealer, `reasoning\n${accountId}`),
      });
      const storeAnswer = (response: JsonObject) => store(parts, call, response);
      return runAnswer(parts, call, request, isStored ? storeAnswer : null);
    },
  };
}

function readRequest({ responseStore }: ResponsesParts, body: JsonBody): ResponsesInput {
  const data = checkResponsesBody(body);
  const own = itemsIn(body.value.input);
  return {
    model: data.model,
    maxTokens: data.max_output_tokens ?? null,
    choices: 1,
    prompts: 1,
    ...mediaInItems(own),
    stream: data.stream === true,
    isStored: data.store !== false && responseStore.isStoring,
    previousResponseId: data.previous_response_id ?? null,
    references: referencesIn(own),
    body,
    own,
    firstOwn: 0,
  };
}

/** The items of a request's input. A text is a message of the user; a request that continues a response may have no input. */
function itemsIn(input: Json | undefined): readonly Json[] {
  if (Array.isArray(input)) return input;
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : [];
}

/** The request with the stored items in place of the references. Together they are within the limits of one body. */
async function resolveRequest(
  { responseStore }: ResponsesParts,
  input: ResponsesInput,
  accountId: AccountId,
): Promise<ResponsesInput> {
  const { previousResponseId, references, body } = input;
  const thoughts = input.own.flatMap((item) => (isBareThought(item) ? [item.id] : []));
  if (previousResponseId === null && references.length === 0 && thoughts.length === 0) return input;
  const parser = new BoundedParser();
  // The body is within the limits, or it would have been refused.
  parser.count(body.text);
  const history =
    previousResponseId === null
      ? { items: [], bytes: 0 }
      : await responseStore.history(accountId, previousResponseId, parser);
  const found = await responseStore.items(accountId, references, parser);
  const completed = await storedThoughts({ responseStore, accountId, parser }, thoughts);
  if (previousResponseId === null && found.size === 0 && completed.size === 0) return input;
  const own = input.own.map((item) => {
    if (isReference(item)) return found.get(item.id) ?? item;
    return isBareThought(item) ? { ...item, ...completed.get(item.id) } : item;
  });
  const items = [...history.items, ...own];
  return {
    ...input,
    ...mediaInItems(items),
    storedBytes: history.bytes + sizeOf(found) + sizeOf(completed),
    body: body.with({ input: items, previous_response_id: undefined }),
    own,
    firstOwn: history.items.length,
  };
}

/**
 * What the stored responses have of thoughts that clients send back without it, as OpenAI's libraries do with what a response has put out:
 * no provider takes a thought back without its own data.
 *
 * @returns the members to add, by the ids of the thoughts; none for those that are not stored.
 */
async function storedThoughts(
  {
    responseStore,
    accountId,
    parser,
  }: Pick<ResponsesParts, "responseStore"> & {
    readonly accountId: AccountId;
    readonly parser: BoundedParser;
  },
  ids: readonly string[],
): Promise<ReadonlyMap<string, JsonObject>> {
  const added = new Map<string, JsonObject>();
  if (ids.length === 0) return added;
  try {
    const stored = await responseStore.storedItems(accountId, ids, parser);
    for (const [id, { encrypted_content: sealed = null }] of stored) {
      if (sealed !== null) added.set(id, { encrypted_content: sealed });
    }
    return added;
  } catch {
    // The request is complete without these parts. If the database does not answer or the parts are too large, it is sent as it is.
    return new Map();
  }
}

/** The items that are referred to. Each may be referred to once, so that a small body can't stand for a huge one. */
function referencesIn(items: readonly Json[]): readonly string[] {
  const ids = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (!isReference(item)) continue;
    if (ids.has(item.id)) {
      throw invalid(`input.${index}.id`, "the item is referred to twice. Send it once.");
    }
    ids.add(item.id);
  }
  return [...ids];
}

function sizeOf(items: ReadonlyMap<string, JsonObject>): number {
  let bytes = 0;
  for (const item of items.values()) bytes += Buffer.byteLength(JSON.stringify(item));
  return bytes;
}

/** Where credit covers the request only in part, the upstream is asked for no more than can be paid for. */
function withinCredit(asked: JsonBody, { affordableTokens: tokens }: PaidCall): JsonBody {
  return tokens === null ? asked : asked.with({ max_output_tokens: tokens });
}

/** Stores a response. One that can't be stored is an answer all the same, and says that it is not stored. */
async function store(
  { responseStore, onNotStored }: ResponsesParts,
  { accountId, input }: Pick<ModelCall<ResponsesInput>, "accountId" | "input">,
  response: JsonObject,
): Promise<JsonObject> {
  const { previousResponseId, own } = input;
  try {
    if (typeof response.id !== "string") throw new Error("the upstream's response has no id");
    await responseStore.save(accountId, {
      id: response.id,
      previousResponseId,
      response,
      input: own.flatMap((item) => (isJsonObject(item) ? [storedItem(item)] : [])),
    });
    return {};
  } catch (error) {
    onNotStored(error);
    return { store: false };
  }
}

/** What the ids of items begin with, by the item's type. */
const ID_PREFIXES: ReadonlyMap<string, string> = new Map([
  ["message", "msg"],
  ["reasoning", "rs"],
  ["function_call", "fc"],
  ["custom_tool_call", "ctc"],
]);

/** An item of a request as it is stored: with a type and an id, by which it can be listed and referred to. */
function storedItem(item: JsonObject): JsonObject {
  const type = typeof item.type === "string" ? item.type : "message";
  const id = typeof item.id === "string" && item.id !== "" ? item.id : newId(ID_PREFIXES.get(type) ?? "item");
  const { content } = item;
  const partType = item.role === "assistant" ? "output_text" : "input_text";
  const parts = typeof content === "string" ? { content: [{ type: partType, text: content }] } : {};
  return { ...item, ...parts, id, type };
}
