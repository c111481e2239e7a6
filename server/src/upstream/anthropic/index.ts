import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import type { DialectDefinition } from "../dialect.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";

/** Anthropic's Messages API. */
export const anthropic: DialectDefinition = {
  name: "anthropic",
  settings: {
    baseUrl: UPSTREAM_SETTINGS.baseUrl.optional(),
    ...UPSTREAM_SETTINGS.credential,
    ...UPSTREAM_SETTINGS.limits,
  },
  open: ({ transport }) => anthropicDialect(transport),
};
