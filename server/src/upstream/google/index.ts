import { UPSTREAM_SETTINGS } from "../../catalog/catalog-file.ts";
import type { DialectDefinition } from "../dialect.ts";
import { googleDialect } from "./google-dialect.ts";

/** Google's Gemini API. */
export const google: DialectDefinition = {
  name: "google",
  settings: {
    baseUrl: UPSTREAM_SETTINGS.baseUrl.optional(),
    ...UPSTREAM_SETTINGS.credential,
    ...UPSTREAM_SETTINGS.limits,
  },
  open: ({ transport }) => googleDialect(transport),
};
