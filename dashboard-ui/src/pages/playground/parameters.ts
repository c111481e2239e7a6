export type ParameterName =
  | "temperature"
  | "top_p"
  | "max_completion_tokens"
  | "max_tokens"
  | "stop"
  | "seed"
  | "presence_penalty"
  | "frequency_penalty"
  | "response_format";

/** Parameters as typed. Missing ones are not sent, so the model's defaults apply. */
export type ParameterTexts = Readonly<Partial<Record<ParameterName, string>>>;

export interface Parameter {
  /** The parameter's name in the API. */
  readonly name: ParameterName;
  readonly kind: "number" | "lines" | "format";
  readonly hint: string;
  /** @returns the value to send, or the problem with the text. */
  readonly read: (text: string) => { readonly value: unknown } | { readonly problem: string };
}

const NEWLINE = /\\n/g;

/** The optional parameters of a request, in the order of the form. The bounds match those of the service. */
export const PARAMETERS: readonly Parameter[] = [
  number("temperature", 0, 2, "Randomness, 0–2."),
  number("top_p", 0, 1, "Probability cutoff, 0–1."),
  integer("max_completion_tokens", 1, 1_000_000_000, "Maximum output tokens."),
  integer("max_tokens", 1, 1_000_000_000, "Older name, required by some providers."),
  {
    name: "stop",
    kind: "lines",
    hint: "Stop sequences, one per line. Use \\n for a line break.",
    read: (text) => {
      const stops = text.split("\n").filter((line) => line !== "");
      return { value: stops.map((stop) => stop.replace(NEWLINE, "\n")) };
    },
  },
  integer(
    "seed",
    Number.MIN_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER,
    "Makes answers repeatable if the model supports it.",
  ),
  number("presence_penalty", -2, 2, "Discourage repeated topics, −2 to 2."),
  number("frequency_penalty", -2, 2, "Discourage repeated words, −2 to 2."),
  {
    name: "response_format",
    kind: "format",
    hint: "For JSON, describe the fields in a message.",
    read: (text) => ({ value: { type: text } }),
  },
];

/** The valid parameters as the request sends them. */
export function parametersOf(texts: ParameterTexts): Readonly<Record<string, unknown>> {
  const values = PARAMETERS.flatMap(({ name, read }) => {
    const text = texts[name];
    const outcome = text === undefined || text === "" ? null : read(text);
    return outcome !== null && "value" in outcome ? [[name, outcome.value] as const] : [];
  });
  return Object.fromEntries(values);
}

/** The problem with a parameter's text, if any. */
export function problemOf({ name, read }: Parameter, texts: ParameterTexts): string | undefined {
  const text = texts[name];
  const outcome = text === undefined || text === "" ? null : read(text);
  return outcome !== null && "problem" in outcome ? outcome.problem : undefined;
}

function number(name: ParameterName, min: number, max: number, hint: string): Parameter {
  return {
    name,
    kind: "number",
    hint,
    read: (text) => {
      const value = Number(text);
      return text.trim() !== "" && value >= min && value <= max
        ? { value }
        : { problem: `Enter a number from ${min} to ${max}.`.replace("-", "−") };
    },
  };
}

function integer(name: ParameterName, min: number, max: number, hint: string): Parameter {
  const { read, ...rest } = number(name, min, max, hint);
  const what = min < 0 ? "a whole number" : `a whole number of at least ${min}`;
  return {
    ...rest,
    read: (text) => {
      const outcome = read(text);
      const isWhole = "value" in outcome && Number.isInteger(outcome.value);
      return isWhole ? outcome : { problem: `Enter ${what}.` };
    },
  };
}
