import type { ListedAccount } from "../../api/types.ts";
import { formatDateTime } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";

/** The hour of an account's latest request. */
export function LastRequest({ account: { lastRequestHour } }: { readonly account: ListedAccount }) {
  if (lastRequestHour === null) return <span className={textStyles.quiet}>never</span>;
  return <time dateTime={lastRequestHour.toISOString()}>{formatDateTime(lastRequestHour)}</time>;
}
