import type { ListedAccount } from "../../api/types.ts";
import { formatDate, formatHour } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";

/** The hour of an account's latest request, of which no exact time is stored. */
export function LastRequest({ account: { lastRequestHour } }: { readonly account: ListedAccount }) {
  if (lastRequestHour === null) return <span className={textStyles.quiet}>never</span>;
  return (
    <time dateTime={lastRequestHour.toISOString()} className={textStyles.pair}>
      <span>{formatDate(lastRequestHour)}</span>
      <span className={textStyles.small}>{formatHour(lastRequestHour)}</span>
    </time>
  );
}
