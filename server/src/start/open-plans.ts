import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import * as z from "zod";
import { nanoUsdOf } from "../catalog/prices.ts";
import { ConfigError } from "../config/config.ts";
import type { Plan } from "../contract/account.ts";
import { BUILT_IN_PLANS, type Plans, type PlanTerms } from "../contract/plans.ts";
import { messageOf } from "../errors/issue-message.ts";
import { fileReasonOf } from "../errors/system-errors.ts";
import { jsonFault } from "../json/json-fault.ts";
import { accountLimit } from "../management/procedures/inputs.ts";
import { fileForMessage } from "../secrets/named-elsewhere.ts";

const usd = z.union([z.string(), z.number()]).transform((value, context) => {
  const amount = nanoUsdOf(String(value));
  if (amount !== null) return amount;
  context.addIssue({ code: "custom", message: 'must be an amount of US dollars such as "2.50"' });
  return z.NEVER;
});

const EXTENSION = /\.[a-z]{2,5}$/i;

/** The terms of a plan. Omitted values are those of the built-in plan. */
const termsOf = (plan: Plan) => {
  const { limits, startingCreditsNanoUsd, auditRetentionDays } = BUILT_IN_PLANS[plan];
  return z
    .strictObject({
      requestsPerMinute: accountLimit.default(limits.requestsPerMinute),
      tokensPerMinute: accountLimit.default(limits.tokensPerMinute),
      concurrentRequests: accountLimit.default(limits.concurrentRequests),
      startingCreditsUsd: usd.default(startingCreditsNanoUsd),
      auditRetentionDays: z.number().int().min(1).max(36_500).nullable().default(auditRetentionDays),
    })
    .transform(({ startingCreditsUsd, auditRetentionDays: days, ...own }): PlanTerms => {
      return { limits: own, startingCreditsNanoUsd: startingCreditsUsd, auditRetentionDays: days };
    })
    .prefault({});
};
const plans = z.strictObject({
  free: termsOf("free"),
  pro: termsOf("pro"),
  enterprise: termsOf("enterprise"),
});

/**
 * Reads the configured plans: JSON, or the path of a JSON file. Omitted values are those of the built-in plans. `null` removes a
 * limit, or keeps entries forever.
 *
 * @throws {ConfigError} with all problems of the plans.
 */
export async function openPlans(configured: string | null): Promise<Plans> {
  if (configured === null) return BUILT_IN_PLANS;
  const parsed = plans.safeParse(await readJson(configured));
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    parsed.error.issues.map((issue) =>
      ["OSTIARY_PLANS", issue.path.join("."), messageOf(issue)].filter((part) => part !== "").join(": "),
    ),
  );
}

async function readJson(configured: string): Promise<unknown> {
  if (configured.startsWith("{")) return parse(configured, "its JSON");
  const path = resolve(configured);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    // A value without the extension of a file may be a secret that was meant for another setting.
    const file = EXTENSION.test(configured) ? `the file ${path}` : fileForMessage(configured);
    throw new ConfigError([
      `OSTIARY_PLANS: must be JSON that begins with {, or the path of a JSON file: ${file} cannot be read: ${fileReasonOf(error)}`,
    ]);
  }
  return parse(text, `the file ${path}`);
}

function parse(text: string, what: string): unknown {
  const fault = jsonFault(text);
  if (fault === null) return JSON.parse(text.replace(/^\ufeff/, ""));
  const { line, column, reason } = fault;
  throw new ConfigError([`OSTIARY_PLANS: ${what} is not valid: line ${line}, column ${column}: ${reason}`]);
}
