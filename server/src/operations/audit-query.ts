import * as z from "zod";
import type { ErrorCode } from "../../../sdk/src/contract/error-codes.ts";
import { type EntryFilter, filterInput, filterOf } from "../audit/filter.ts";
import { Failure } from "../errors/failure.ts";
import { KEY_ERRORS, query, type Schema, schemaOf } from "./openapi-parts.ts";
import { requireKnownParameters } from "./query-parameters.ts";

const filters = z.object(filterInput);

/** The filters of a query string. @throws {Failure} `invalid_request` naming the parameter. */
export function readFilter(query: URLSearchParams): EntryFilter {
  const given = Object.keys(filterInput).flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const parsed = filters.safeParse(Object.fromEntries(given));
  if (parsed.success) return filterOf(parsed.data);
  const [issue] = parsed.error.issues;
  const param = String(issue?.path[0] ?? "query");
  throw new Failure("invalid_request", `${param}: ${issue?.message ?? "is not valid"}`, { param });
}

/** Requires that a query has only the filters and these parameters. @throws {Failure} as {@link requireKnownParameters}. */
export function requireKnown(query: URLSearchParams, others: readonly string[]): void {
  requireKnownParameters(query, [...Object.keys(filterInput), ...others]);
}

/** The error codes of both operations on the audit log. */
export const AUDIT_ERRORS: readonly ErrorCode[] = [
  ...KEY_ERRORS,
  "invalid_request",
  "invalid_management_token",
];

/** The filters as parameters of the OpenAPI document. */
export function filterParameters(): readonly Schema[] {
  const { properties } = schemaOf(filters) as { properties: Record<string, Schema> };
  return Object.entries(properties).map(([name, schema]) => query(name, schema));
}
