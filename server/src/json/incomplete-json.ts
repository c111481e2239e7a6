/** An incomplete escape at the end of a text that was cut off. */
const PART_OF_ESCAPE = /(?<!\\)(?:\\\\)*(?<part>\\(?:u[0-9a-fA-F]{0,3})?)$/;
/** An incomplete `true`, `false` or `null` there. */
const PART_OF_LITERAL = /(?:t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?)$/;
/** Any beginning of JSON is completed by one of these texts before its closing brackets: nothing, a value or a digit, a value with its colon, or a member. */
const ENDS = ["", "0", ":0", '"":0'];

/**
 * Whether a text is an incomplete JSON text: the beginning of one, and not a JSON text itself. An empty text does not count.
 *
 * @param mayParse is asked before anything is parsed, with the text and what closes it. If it returns false, so does this function.
 */
export function isCutOff(text: string, mayParse: (closed: string) => boolean = () => true): boolean {
  if (text.trim() === "") return false;
  const cut = partsOf(text);
  if (!mayParse(cut.kept + cut.closing) || isJson(text)) return false;
  return completionOf(cut) !== null;
}

/** The JSON text with which a text begins that was cut off, with what is missing at its end; `null` if it does not begin with one. */
export function completedJson(text: string): string | null {
  return completionOf(partsOf(text));
}

/** What is kept of a text that was cut off, and the brackets that close it. */
interface CutText {
  readonly kept: string;
  readonly closing: string;
}

function partsOf(text: string): CutText {
  const { closing, isInString } = openIn(text);
  const part = isInString ? PART_OF_ESCAPE.exec(text)?.groups?.part : PART_OF_LITERAL.exec(text)?.[0];
  const kept = text.slice(0, text.length - (part?.length ?? 0)) + (isInString ? '"' : "");
  return { kept, closing };
}

function completionOf({ kept, closing }: CutText): string | null {
  return ENDS.map((end) => kept + end + closing).find(isJson) ?? null;
}

/** What is open at the end of a text. */
function openIn(text: string): { readonly closing: string; readonly isInString: boolean } {
  const closers: string[] = [];
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at++;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "{") closers.push("}");
    else if (character === "[") closers.push("]");
    else if (character === "}" || character === "]") closers.pop();
  }
  return { closing: closers.reverse().join(""), isInString };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // It is no JSON.
    return false;
  }
}
