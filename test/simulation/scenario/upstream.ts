import { catalogOf, DEFAULT_TIMEOUTS, TEXT_ONLY } from "../../../server/src/catalog/catalog.ts";
import { withDefaultPrices } from "../../../server/src/catalog/prices.ts";
import { CHAT_CONTROL_EVENTS, LAST_CHUNK } from "../../../server/src/conversation/control-events.ts";
import { Failure } from "../../../server/src/errors/failure.ts";
import { TextTally } from "../../../server/src/tokens/text-tally.ts";
import { NO_USAGE, type Usage } from "../../../server/src/tokens/token-estimate.ts";
import {
  type Dialect,
  type ForwardCall,
  type StreamedAnswer,
  UpstreamRefused,
  type WireAnswer,
} from "../../../server/src/upstream/dialect.ts";
import { TransportError } from "../../../server/src/upstream/transport.ts";
import { type Attempt, answerText, type Wish } from "./facts.ts";

export const MODEL = "model";
const PER_MTOK = 1_000_000n;
/** The tokens of a prompt, which cost nothing. */
const PROMPT_USAGE: Usage = { ...NO_USAGE, promptTokens: 1 };
/** So often the model fails, or its stream ends without a usage, which nothing can estimate. */
const FAILURES = 0.03;

/** One model. Of its answers each token costs a nano-USD, and nothing else costs anything. */
export const CATALOG = catalogOf(
  [
    {
      id: MODEL,
      aliases: [],
      ownedBy: "simulation",
      created: 0,
      sandbox: true,
      contextTokens: 100_000,
      maxOutputTokens: 1_000,
      modalities: TEXT_ONLY,
      prices: withDefaultPrices({ inputNanoUsdPerMTok: 0n, outputNanoUsdPerMTok: PER_MTOK }),
      routes: [{ upstream: "upstream", model: MODEL, weight: 1 }],
    },
  ],
  [
    {
      name: "upstream",
      dialect: "openai",
      settings: {},
      isSandbox: false,
      baseUrl: "",
      credential: null,
      timeouts: DEFAULT_TIMEOUTS,
      maxConcurrency: 10_000,
      breaker: { failures: 10_000, openMs: 1 },
    },
  ],
);

/** Who is told what the model is asked. */
export interface ModelWatcher {
  /** The request that a prompt belongs to. */
  wishOf(prompt: string): Wish;
  asked(attempt: Attempt): void;
  answered(attempt: Attempt): void;
}

/** A model that takes as long as each request's client has in mind, and tells what it took. */
export function simulatedDialect(watcher: ModelWatcher): Dialect {
  return {
    own: { wire: "chat", forward: (call) => forward(call, watcher) },
    converse: async () => {
      throw new Error("no scenario translates");
    },
    embed: async () => {
      throw new Error("no scenario asks for this");
    },
  };
}

async function forward(call: ForwardCall, watcher: ModelWatcher): Promise<WireAnswer> {
  const wish = watcher.wishOf(promptOf(call));
  const attempt = wish.attempts.at(-1);
  if (attempt === undefined) throw new Error("a request that nobody has sent");
  const { random } = wish;
  const allowed = maxTokensOf(call) ?? wish.maxTokens;
  const tokens = random.chance(0.5) ? allowed : 1 + random.below(allowed);
  const text = answerText(wish, tokens);
  const isFailing = random.chance(FAILURES);
  watcher.asked(attempt);
  if (!call.request.stream) {
    try {
      await elapsed(wish.lastsMs, call);
    } finally {
      watcher.answered(attempt);
    }
    if (isFailing) throw refused();
    return { kind: "whole", body: text, ...factsOf(tokens) };
  }
  return streamed(call, { text, tokens, lastsMs: wish.lastsMs, isFailing }, () => watcher.answered(attempt));
}

function streamed(
  call: ForwardCall,
  { text, tokens, lastsMs, isFailing }: { text: string; tokens: number; lastsMs: number; isFailing: boolean },
  answered: () => void,
): StreamedAnswer {
  let usage: Usage | null = PROMPT_USAGE;
  const isUncounted = isFailing && tokens % 2 === 0;
  const events = async function* () {
    try {
      yield `data: ${text}\n\n`;
      await elapsed(lastsMs / 2, call);
      usage = { ...PROMPT_USAGE, completionTokens: Math.ceil(tokens / 2) };
      yield "data: more\n\n";
      await elapsed(lastsMs / 2, call);
      if (isFailing && !isUncounted) throw refused();
      usage = isUncounted ? null : { ...PROMPT_USAGE, completionTokens: tokens };
      yield "data: all\n\n";
    } finally {
      answered();
    }
  };
  return {
    kind: "stream",
    events: events(),
    last: () => LAST_CHUNK,
    controlEvents: CHAT_CONTROL_EVENTS,
    usage: () => usage,
    produced: () => new TextTally(),
    ignored: () => [],
  };
}

function elapsed(ms: number, { signal }: ForwardCall): Promise<void> {
  return new Promise((resolve, reject) => {
    const left = () => {
      clearTimeout(timer);
      reject(new TransportError("aborted", "the request was left"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", left);
      resolve();
    }, ms);
    if (signal.aborted) left();
    else signal.addEventListener("abort", left);
  });
}

function factsOf(completionTokens: number) {
  return {
    usage: { ...PROMPT_USAGE, completionTokens },
    produced: () => new TextTally(),
    ignored: [],
  };
}

function refused(): UpstreamRefused {
  return new UpstreamRefused(500, new Failure("upstream_error", "The model failed."));
}

function promptOf({ request: { body } }: ForwardCall): string {
  const { messages } = body.value;
  const [message] = Array.isArray(messages) ? messages : [];
  return typeof message === "object" && message !== null && "content" in message
    ? String(message.content)
    : "";
}

function maxTokensOf({ request: { body, ownLimit } }: ForwardCall): number | null {
  const { max_tokens: most } = body.value;
  return typeof most === "number" ? most : (ownLimit ?? null);
}
