// What can go wrong, and what the client does about it by itself.
import Ostiary, {
  APIConnectionError,
  APIError,
  AuthenticationError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
} from "ostiary";

const client = new Ostiary({ maxRetries: 1, timeout: 30_000 });
client.on("response", ({ attempt, status }) => console.log("attempt", attempt, "was answered with", status));

/** Asks a sandbox model, which answers with an error if it is told to. */
async function ask(content: string): Promise<string> {
  try {
    const body = { model: "sandbox/echo", messages: [{ role: "user" as const, content }] };
    const answer = await client.chat.completions.create(body);
    return answer.choices[0]?.message.content ?? "";
  } catch (error) {
    return explain(error);
  }
}

function explain(error: unknown): string {
  if (error instanceof RateLimitError) return `Too many requests. Retry in ${error.retryAfterMs ?? 0} ms.`;
  if (error instanceof AuthenticationError) return `The key is not valid: ${error.code}.`;
  if (error instanceof PermissionDeniedError) return `The request is not allowed: ${error.reason}.`;
  if (error instanceof PaymentRequiredError) return "The account has no credit left.";
  if (error instanceof APIError)
    return `The service answered ${error.status} ${error.code} (request ${error.requestId}).`;
  if (error instanceof APIConnectionError) return "The service could not be reached.";
  throw error;
}

console.log(await ask("Hello!"));
console.log(await ask("sandbox:error 503")); // retried once
console.log(await ask("sandbox:error 402")); // never retried
const stranger = client.withOptions({ apiKey: "sk-unknown" });
await stranger.models.list().catch((error) => console.log(explain(error)));
