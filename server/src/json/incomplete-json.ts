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
  const { closing, isInString } = openIn(text);
  const part = isInString ? PART_OF_ESCAPE.exec(text)?.groups?.part : PART_OF_LITERAL.exec(text)?.[0];
  const kept = text.slice(0, text.length - (part?.length ?? 0)) + (isInString ? '"' : "");
  if (!mayParse(kept + closing) || isJson(text)) return false;
  return ENDS.some((end) => isJson(kept + end + closing));
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
