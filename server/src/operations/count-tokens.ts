import { TextTally } from "../tokens/text-tally.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import { promptTextOf } from "../wire/messages/prompt-text.ts";
import { countTokensBody, readCountTokens } from "./messages-body.ts";
import {
  body,
  json,
  MESSAGES_CREDENTIALS,
  MESSAGES_VERSION,
  MODEL_ERRORS,
  messagesErrors,
  schemaOf,
} from "./openapi-parts.ts";
import { jsonReply, type ModelOperation, type ModelUse, NO_FACTS } from "./operation.ts";
import type { ModelOperationParts } from "./run-answer.ts";

/** Nothing was asked of the model, so that nothing counts against the limit on tokens. */
const NOTHING: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

/**
 * `POST /v1/messages/count_tokens`. The service counts by itself, also for models of Anthropic's: clients ask before each request, and
 * the answer is the same estimate as at the beginning of a stream, whichever upstream serves the model and whether it works or not.
 */
export function countTokens({ estimator, maxBodyBytes }: ModelOperationParts): ModelOperation<ModelUse> {
  return {
    kind: "model",
    method: "POST",
    path: "/v1/messages/count_tokens",
    auth: "key",
    openapi: {
      operationId: "countMessageTokens",
      summary: "Estimates the tokens of a message's prompt, free of charge",
      security: MESSAGES_CREDENTIALS,
      parameters: [MESSAGES_VERSION],
      requestBody: body(schemaOf(countTokensBody.schema)),
      responses: {
        200: {
          description: "The number of tokens",
          content: json({
            type: "object",
            required: ["input_tokens"],
            properties: { input_tokens: { type: "integer" } },
          }),
        },
        ...messagesErrors(MODEL_ERRORS),
      },
    },
    maxBodyBytes,
    outputTokenFields: [],
    signs: null,
    read: readCountTokens,
    modelUse: (input) => input,
    run: async ({ body: asked, paid }) => {
      const { promptTokens } = await estimator.usageOfPrompt(promptTextOf(asked.value), new TextTally());
      return jsonReply({ input_tokens: promptTokens }, { ...NO_FACTS, model: paid.model.id, usage: NOTHING });
    },
  };
}
