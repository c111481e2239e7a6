import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import type { DialectDefinition } from "../dialect.ts";
import { responsesDialect } from "./responses-dialect.ts";

/** Upstreams with OpenAI's Responses API. */
export const openaiResponses: DialectDefinition = {
  name: "openai-responses",
  settings: {
    baseUrl: UPSTREAM_SETTINGS.baseUrl,
    ...UPSTREAM_SETTINGS.credential,
    ...UPSTREAM_SETTINGS.limits,
  },
  open: ({ transport }) => responsesDialect(transport),
};
