import process from "node:process";
import type { DemoAccount } from "./first-users.ts";
import type { Startup } from "./startup.ts";

export interface BannerFacts {
  readonly serviceName: string;
  /** Scheme, host and port. */
  readonly url: string;
  /** The address of the socket, which differs from `url` behind a proxy. */
  readonly listensOn: string;
  readonly database: string;
  readonly models: readonly string[];
  /** Warnings about dangerous settings. */
  readonly warnings: readonly string[];
  /** Set by the start that created it. */
  readonly demo: DemoAccount | null;
}

const MODELS_NAMED = 6;

/** Tells that the service is ready: in the log, and in demo mode by the banner. */
export function announce({ log, hasBanner }: Pick<Startup, "log" | "hasBanner">, facts: BannerFacts): void {
  // The demo account's key is shown without a terminal too, because it cannot be read later.
  if (hasBanner || facts.demo !== null) process.stdout.write(banner(facts));
  const { url, listensOn, database, models } = facts;
  log.info({ url, listensOn, database, models: models.length }, "ready");
}

/** What is printed when the service has started in demo mode: on a terminal, and wherever the demo account's key is shown. */
export function banner(facts: BannerFacts): string {
  const more = facts.models.length - MODELS_NAMED;
  const models = facts.models.slice(0, MODELS_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
  const lines = [
    `${facts.serviceName} is ready at ${facts.url}`,
    "",
    `  dashboard   ${facts.url}/`,
    `  API         ${facts.url}/v1`,
    `  docs        ${facts.url}/docs`,
    `  listens on  ${facts.listensOn}`,
    `  database    ${facts.database}`,
    `  models      ${models}`,
  ];
  for (const warning of facts.warnings) lines.push("", `WARNING: ${warning}`);
  if (facts.demo !== null) lines.push("", ...demoLines(facts.url, facts.models[0] ?? "", facts.demo));
  return `${lines.join("\n")}\n`;
}

function demoLines(url: string, model: string, { email, password, operator, key }: DemoAccount): string[] {
  const lines = [
    "A demo account was created, because the database was empty (OSTIARY_DEMO=0 turns this off).",
    "",
    `Sign in to the dashboard as ${email} with password ${password}`,
  ];
  if (operator !== null) {
    lines.push(`Sign in to the operator's console as ${operator.email} with password ${operator.password}`);
  }
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello!" }] });
  return [
    ...lines,
    "",
    "The command below contains the account's API key, which is not shown again. Try it:",
    "",
    `curl ${url}/v1/chat/completions \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ];
}
