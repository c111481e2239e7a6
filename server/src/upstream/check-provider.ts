import * as z from "zod";
import type { Credential } from "../catalog/credential.ts";
import { parseJsonObject } from "../json/json.ts";
import { readText } from "./answer-body.ts";
import { ANTHROPIC_VERSION, anthropicHeaders, bearerHeaders, googleHeaders } from "./credential-headers.ts";
import { UpstreamRefused } from "./dialect.ts";
import { TlsFailure } from "./http/connect-failures.ts";
import { type HeaderList, type Transport, TransportError } from "./transport.ts";

/** The dialects of providers that list their models. */
export const LISTING_DIALECTS = ["openai", "openai-responses", "anthropic", "google"] as const;

interface ProviderAddress {
  readonly dialect: (typeof LISTING_DIALECTS)[number];
  /** The URL up to the version, such as `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** `null`: the provider needs none. */
  readonly credential: Credential | null;
}

interface ProviderCheck {
  /** The ids of the provider's models: up to 1,000. Empty if there is a problem. */
  readonly models: readonly string[];
  /** What is wrong and what to do; `null`: the provider accepts the credential. */
  readonly problem: string | null;
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_MODELS = 1_000;
const CREDENTIAL_REFUSED = [401, 403];

const modelId = z.string().min(1).max(200);
const modelLists = z.union([
  z.object({ data: z.array(z.object({ id: modelId })) }).transform(({ data }) => data.map(({ id }) => id)),
  // Google's API names its models `models/…`.
  z
    .object({ models: z.array(z.object({ name: modelId })) })
    .transform(({ models }) => models.map(({ name }) => name.replace(/^models\//, ""))),
]);

/** Lists a provider's models, which shows whether it accepts the credential. The request costs nothing and has a deadline. */
export async function checkProvider(
  address: ProviderAddress,
  transport: Pick<Transport, "send">,
  timeoutMs = TIMEOUT_MS,
): Promise<ProviderCheck> {
  try {
    const response = await transport.send({
      method: "GET",
      url: `${address.baseUrl}/models${queryOf(address)}`,
      headers: ["accept", "application/json", ...headersOf(address)],
      body: null,
      signal: AbortSignal.timeout(timeoutMs),
      timeouts: { connectMs: timeoutMs, firstByteMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs },
    });
    const text = await readText(response.body, MAX_BYTES);
    const problem = problemOfStatus(response.status);
    return problem === null ? modelsIn(text) : { models: [], problem };
  } catch (error) {
    // An answer whose decoding would take too long.
    if (error instanceof UpstreamRefused) return modelsIn(null);
    if (!(error instanceof TransportError)) throw error;
    return { models: [], problem: problemOfFault(error, address, timeoutMs) };
  }
}

function queryOf({ dialect }: ProviderAddress): string {
  if (dialect === "google") return "?pageSize=1000";
  return dialect === "anthropic" ? "?limit=1000" : "";
}

function headersOf({ dialect, credential }: ProviderAddress): HeaderList {
  if (dialect === "anthropic")
    return ["anthropic-version", ANTHROPIC_VERSION, ...anthropicHeaders(credential)];
  return dialect === "google" ? googleHeaders(credential) : bearerHeaders(credential);
}

function problemOfStatus(status: number): string | null {
  if (status === 200) return null;
  if (CREDENTIAL_REFUSED.includes(status))
    return `The provider refused the credential (status ${status}). Check its value and permissions.`;
  if (status === 404)
    return "The provider has no list of models at this address (status 404). Check the base URL, which often ends in /v1.";
  return `The provider answered with status ${status}. Check the base URL, or try again later.`;
}

function modelsIn(text: string | null): ProviderCheck {
  const parsed = modelLists.safeParse(parseJsonObject(text ?? ""));
  if (parsed.success) return { models: parsed.data.slice(0, MAX_MODELS), problem: null };
  return {
    models: [],
    problem: "The answer is not a list of models. Check the base URL and the kind of provider.",
  };
}

function problemOfFault(error: TransportError, { baseUrl }: ProviderAddress, timeoutMs: number): string {
  const { host } = new URL(baseUrl);
  const { fault } = error;
  if (error instanceof TlsFailure) return `Could not connect to ${host}: ${error.message}.`;
  if (fault === "connect")
    return `Could not connect to ${host}. Check the base URL and the service's network.`;
  if (fault === "cut") return `${host} closed the connection before it had answered. Try again.`;
  return `${host} did not answer within ${timeoutMs / 1_000} seconds. Check the base URL and the service's network.`;
}
