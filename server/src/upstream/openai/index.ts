import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import type { DialectDefinition } from "../dialect.ts";
import { openAiDialect } from "./openai-dialect.ts";

/** Upstreams with OpenAI's wire format. */
export const openai: DialectDefinition = {
  name: "openai",
  settings: {
    baseUrl: UPSTREAM_SETTINGS.baseUrl,
    ...UPSTREAM_SETTINGS.credential,
    ...UPSTREAM_SETTINGS.limits,
  },
  open: ({ transport }) => openAiDialect(transport),
};
