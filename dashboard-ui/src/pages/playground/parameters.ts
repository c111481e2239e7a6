type ParameterName =
  | "temperature"
  | "top_p"
  | "max_completion_tokens"
  | "max_tokens"
  | "stop"
  | "seed"
  | "presence_penalty"
  | "frequency_penalty";

/** Parameters as typed. Missing ones are not sent, so the model's defaults apply. */
export type ParameterTexts = Readonly<Partial<Record<ParameterName, string>>>;

export interface Parameter {
  /** The parameter's name in the API. */
  readonly name: ParameterName;
  readonly kind: "number" | "lines";
  readonly hint: string;
  /** The range of a slider, for numbers that are chosen by feel. */
  readonly slider?: Slider;
  /** @returns the value to send, or the problem with the text. */
  readonly read: (text: string) => { readonly value: unknown } | { readonly problem: string };
}

export interface Slider {
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** Where the slider stands while the parameter is not set. */
  readonly start: number;
}

const SLIDER_STEP = 0.05;
const NEWLINE = /\\n/g;

/** The optional parameters of a request, in the order of the form. The bounds match those of the service. */
export const PARAMETERS: readonly Parameter[] = [
  number("temperature", 0, 2, "Randomness, 0–2.", 1),
  number("top_p", 0, 1, "Probability cutoff, 0–1.", 1),
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
  number("presence_penalty", -2, 2, "Discourage repeated topics, −2 to 2.", 0),
  number("frequency_penalty", -2, 2, "Discourage repeated words, −2 to 2.", 0),
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

/** @param start The position of the parameter's slider while it is not set. Without it there is no slider. */
function number(name: ParameterName, min: number, max: number, hint: string, start?: number): Parameter {
  return {
    name,
    kind: "number",
    hint,
    ...(start === undefined ? {} : { slider: { min, max, step: SLIDER_STEP, start } }),
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
