import { formatExactTime } from "./format.ts";
import textStyles from "./text.module.css";

/** A time to the second. In a narrow column its date and its time of day are on a line each. */
export function ExactTime({ at }: { readonly at: Date }) {
  const text = formatExactTime(at);
  const end = text.indexOf(",") + 1;
  return (
    <time dateTime={at.toISOString()}>
      <span className={textStyles.unbroken}>{text.slice(0, end)}</span>
      {text.slice(end, end + 1)}
      <span className={textStyles.unbroken}>{text.slice(end + 1)}</span>
    </time>
  );
}
