import { MODEL } from "./gated-model.ts";

/** The service promises to recover within 10 seconds after a store can be reached again; the rest is for a busy machine. */
export const RECOVERY = { timeout: 15_000, interval: 50 };

/** Every wait in the service has a deadline of a few seconds, so a request without an answer after this time hangs. */
const ANSWER_TIMEOUT_MS = 15_000;

export interface ChatOptions {
  readonly content?: string;
  readonly stream?: boolean;
  readonly idempotencyKey?: string;
  /** Fields to replace in the body, or to add to it. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly timeoutMs?: number;
}

/** How a request ended. */
export interface Outcome {
  /** `broken`: the connection ended before the answer was complete. `hung`: there was no answer within the timeout. */
  readonly status: number | "broken" | "hung";
  /** The request's id; `null` when no headers arrived. */
  readonly id: string | null;
  /** The error's code; `null` when there was no error body. */
  readonly code: string | null;
  readonly retryAfter: string | null;
  readonly isReplayed: boolean;
}

/** Sends one chat request. An outcome with status 200 means that the whole answer arrived. */
export async function ask(baseUrl: string, key: string, asked: ChatOptions = {}): Promise<Outcome> {
  const { content = "hi", stream = false, idempotencyKey, body = {}, timeoutMs = ANSWER_TIMEOUT_MS } = asked;
  return answerTo(`${baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    },
    body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content }], stream, ...body }),
    signal: AbortSignal.timeout(timeoutMs),
  });
}

/** Sends several requests at the same time. */
export function askTimes(
  times: number,
  baseUrl: string,
  key: string,
  asked: ChatOptions = {},
): Promise<Outcome[]> {
  return Promise.all(Array.from({ length: times }, () => ask(baseUrl, key, asked)));
}

export interface RepeatOptions extends ChatOptions {
  readonly withinMs?: number;
  /** The pause between two requests. */
  readonly everyMs?: number;
}

/**
 * Repeats a request until its outcome satisfies `isEnd`, as a client does that retries. Returns all outcomes.
 *
 * @throws {Error} when no outcome did so within the time.
 */
export async function askUntil(
  isEnd: (outcome: Outcome) => boolean,
  baseUrl: string,
  key: string,
  { withinMs = RECOVERY.timeout, everyMs = RECOVERY.interval, ...asked }: RepeatOptions = {},
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const untilMs = performance.now() + withinMs;
  for (;;) {
    const outcome = await ask(baseUrl, key, asked);
    outcomes.push(outcome);
    if (isEnd(outcome)) return outcomes;
    if (performance.now() > untilMs) throw new Error(`the last outcome was ${JSON.stringify(outcome)}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** Sends a GET request and returns its status. */
export async function statusOfGet(
  url: string,
  key?: string,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<Outcome["status"]> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return (await answerTo(url, { headers, signal: AbortSignal.timeout(timeoutMs) })).status;
}

async function answerTo(url: string, init: RequestInit): Promise<Outcome> {
  let response: Response | null = null;
  const outcome = (status: Outcome["status"], code: string | null): Outcome => ({
    status,
    id: response?.headers.get("x-request-id") ?? null,
    code,
    retryAfter: response?.headers.get("retry-after") ?? null,
    isReplayed: response?.headers.get("idempotency-replayed") === "true",
  });
  try {
    response = await fetch(url, init);
    const text = await response.text();
    if (response.status !== 200) return outcome(response.status, codeIn(text));
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if (isStream && !text.endsWith("data: [DONE]\n\n")) return outcome("broken", codeIn(text));
    return outcome(200, null);
  } catch (error) {
    return outcome((error as Error).name === "TimeoutError" ? "hung" : "broken", null);
  }
}

function codeIn(text: string): string | null {
  return /"code":"([a-z_]+)"/.exec(text)?.[1] ?? null;
}

/** Whether a procedure call succeeded, failed, or did not end within the timeout. */
export async function endOf(
  call: Promise<unknown>,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<"answered" | "refused" | "hung"> {
  let timer: NodeJS.Timeout | undefined;
  const hung = new Promise<"hung">((resolve) => {
    timer = setTimeout(resolve, timeoutMs, "hung");
  });
  const ended = call.then(
    () => "answered" as const,
    () => "refused" as const,
  );
  return Promise.race([ended, hung]).finally(() => clearTimeout(timer));
}

/** The ids of the requests that were answered with 200. */
export function answeredIds(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ status, id }) => (status === 200 && id !== null ? [id] : []));
}

/** The distinct statuses, sorted. */
export function statusesOf(outcomes: readonly Outcome[]): Outcome["status"][] {
  return [...new Set(outcomes.map(({ status }) => status))].sort();
}

/** The sum of a node's metric over all its labels; `null` when there is no such metric. */
export async function metricOf(baseUrl: string, name: RegExp): Promise<number | null> {
  const response = await fetch(`${baseUrl}/metrics`, { signal: AbortSignal.timeout(5_000) });
  const values = (await response.text()).split("\n").flatMap((line) => {
    const [, found = "", value] = /^(\w+)(?:\{.*\})? (\S+)$/.exec(line) ?? [];
    return name.test(found) ? [Number(value)] : [];
  });
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}
