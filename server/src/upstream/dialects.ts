import { anthropic } from "./anthropic/index.ts";
import type { Dialect, DialectDefinition, DialectParts } from "./dialect.ts";
import { google } from "./google/index.ts";
import { openai } from "./openai/index.ts";
import { openaiResponses } from "./openai-responses/index.ts";
import { withOptionalReasoning } from "./optional-reasoning.ts";
import { sandbox } from "./sandbox/index.ts";

/** All dialects: the catalog's schema and loader, its JSON Schema and the gateway take them from here. */
export const DIALECTS: readonly DialectDefinition[] = [openai, openaiResponses, anthropic, google, sandbox];

/** Opens dialects. @returns them by name. */
export function openDialects(
  dialects: readonly DialectDefinition[],
  parts: DialectParts,
): ReadonlyMap<string, Dialect> {
  return new Map(
    dialects.map(({ name, open }) => [name, withOptionalReasoning(open(parts), parts.monotonicMs)]),
  );
}
