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

/** Parameters as they were typed. What is not there is not sent, and the model's own default holds. */
export type ParameterTexts = Readonly<Partial<Record<ParameterName, string>>>;

export interface Parameter {
  /** As the API calls it. */
  readonly name: ParameterName;
  readonly kind: "number" | "lines" | "format";
  readonly hint: string;
  /** @returns what is sent, or what is wrong with the text. */
  readonly read: (text: string) => { readonly value: unknown } | { readonly problem: string };
}

const NEWLINE = /\\n/g;

/** What a request may say beside its messages, in the order of the form. The bounds are those of the service. */
export const PARAMETERS: readonly Parameter[] = [
  number("temperature", 0, 2, "0 to 2; higher is freer."),
  number("top_p", 0, 1, "0 to 1; lower keeps to what is likely."),
  integer("max_completion_tokens", 1, 1_000_000_000, "The longest that an answer may be."),
  integer("max_tokens", 1, 1_000_000_000, "Its older name, which some servers need."),
  {
    name: "stop",
    kind: "lines",
    hint: "Ends the answer. One a line; \\n is a line break.",
    read: (text) => {
      const stops = text.split("\n").filter((line) => line !== "");
      return { value: stops.map((stop) => stop.replace(NEWLINE, "\n")) };
    },
  },
  integer(
    "seed",
    Number.MIN_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER,
    "The same seed, the same answer, where it can.",
  ),
  number("presence_penalty", -2, 2, "−2 to 2; against what was said at all."),
  number("frequency_penalty", -2, 2, "−2 to 2; against what was said often."),
  {
    name: "response_format",
    kind: "format",
    hint: "With JSON, say in a message what it is to hold.",
    read: (text) => ({ value: { type: text } }),
  },
];

/** The parameters of a request. */
export function parametersOf(texts: ParameterTexts): Readonly<Record<string, unknown>> {
  const values = PARAMETERS.flatMap(({ name, read }) => {
    const text = texts[name];
    const outcome = text === undefined || text === "" ? null : read(text);
    return outcome !== null && "value" in outcome ? [[name, outcome.value] as const] : [];
  });
  return Object.fromEntries(values);
}

/** What is wrong with a parameter as it was typed. */
export function problemOf({ name, read }: Parameter, texts: ParameterTexts): string | undefined {
  const text = texts[name];
  const outcome = text === undefined || text === "" ? null : read(text);
  return outcome !== null && "problem" in outcome ? outcome.problem : undefined;
}

function number(name: ParameterName, least: number, most: number, hint: string): Parameter {
  return {
    name,
    kind: "number",
    hint,
    read: (text) => {
      const value = Number(text);
      return text.trim() !== "" && value >= least && value <= most
        ? { value }
        : { problem: `Must be a number from ${least} to ${most}.`.replace("-", "−") };
    },
  };
}

function integer(name: ParameterName, least: number, most: number, hint: string): Parameter {
  const { read, ...rest } = number(name, least, most, hint);
  const what = least < 0 ? "a whole number" : `a whole number of at least ${least}`;
  return {
    ...rest,
    read: (text) => {
      const outcome = read(text);
      const isWhole = "value" in outcome && Number.isInteger(outcome.value);
      return isWhole ? outcome : { problem: `Must be ${what}.` };
    },
  };
}
