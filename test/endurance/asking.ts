import { MODEL } from "./gated-model.ts";

/** What is promised is 10 seconds after the other side can be reached again; the rest is for a busy machine. */
export const RECOVERY = { timeout: 15_000, interval: 50 };

/** Nothing may take longer that can be answered at all: each wait in the service has a deadline of some seconds. */
export const ANSWER_TIMEOUT_MS = 15_000;

export interface Asked {
  readonly content?: string;
  readonly stream?: boolean;
  readonly idempotencyKey?: string;
  /** Fields that take the place of others, or are added. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly timeoutMs?: number;
}

/** What came of a request. */
export interface Outcome {
  /** `broken`: the connection ended before the answer did; `hung`: there was no end of it in time. */
  readonly status: number | "broken" | "hung";
  /** Of the request; `null` when not even that came. */
  readonly id: string | null;
  /** Of the error. */
  readonly code: string | null;
  readonly retryAfter: string | null;
  readonly isReplayed: boolean;
}

/** Asks the model once. An outcome with status 200 was seen whole. */
export async function ask(baseUrl: string, key: string, asked: Asked = {}): Promise<Outcome> {
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

/** Asks as often at once. */
export function askTimes(times: number, baseUrl: string, key: string, asked: Asked = {}): Promise<Outcome[]> {
  return Promise.all(Array.from({ length: times }, () => ask(baseUrl, key, asked)));
}

export interface AskedAgain extends Asked {
  readonly withinMs?: number;
  /** The pause between two. */
  readonly everyMs?: number;
}

/**
 * Asks again and again, as a client does that is told to come back.
 *
 * @throws {Error} when there was no outcome in time that `isEnd`.
 */
export async function askUntil(
  isEnd: (outcome: Outcome) => boolean,
  baseUrl: string,
  key: string,
  { withinMs = RECOVERY.timeout, everyMs = RECOVERY.interval, ...asked }: AskedAgain = {},
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const untilMs = performance.now() + withinMs;
  for (;;) {
    const outcome = await ask(baseUrl, key, asked);
    outcomes.push(outcome);
    if (isEnd(outcome)) return outcomes;
    if (performance.now() > untilMs) throw new Error(`in the end: ${JSON.stringify(outcome)}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** What came of a request by GET, of which not more than its status matters. */
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

/** The outcome of a procedure, as far as it came to an end. */
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

/** The ids of those that were answered. */
export function answeredIds(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ status, id }) => (status === 200 && id !== null ? [id] : []));
}

/** Statuses, each once, in order. */
export function statusesOf(outcomes: readonly Outcome[]): Outcome["status"][] {
  return [...new Set(outcomes.map(({ status }) => status))].sort();
}
