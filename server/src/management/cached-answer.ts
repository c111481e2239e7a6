import { writeProcedureData } from "../../../sdk/src/contract/procedure-data.ts";

/** The texts of cached answers, in the encoding of procedures. */
const encoded = new WeakMap<object, string>();

/**
 * Makes the answer of a procedure from a value that does not change, once for each value. The answer is encoded once, too: the list of 2,000
 * models takes 40 ms.
 */
export function cachedAnswer<Source extends object, Answer extends object>(
  make: (source: Source) => Answer,
): (source: Source) => Answer {
  const answers = new WeakMap<Source, Answer>();
  return (source) => {
    const known = answers.get(source);
    if (known !== undefined) return known;
    const answer = make(source);
    answers.set(source, answer);
    encoded.set(answer, encodedText(answer));
    return answer;
  };
}

/** The answer of a procedure as text in the encoding of procedures. */
export function answerText(answer: unknown): string {
  const cached = typeof answer === "object" && answer !== null ? encoded.get(answer) : undefined;
  return cached ?? encodedText(answer);
}

function encodedText(answer: unknown): string {
  return JSON.stringify(writeProcedureData(answer));
}
