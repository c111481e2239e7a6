import { client } from "../../../api/client.ts";
import type { LogSource } from "../../audit/log-source.ts";

/** The log of all accounts. */
export const SERVICE_LOG: LogSource = {
  name: "service",
  list: (input, signal) => client.operator.log.list.query(input, { signal }),
  summary: (filters) => client.operator.log.summary.query(filters),
  entry: (requestId) => client.operator.log.get.query({ requestId }),
  emptyText: "Requests of all accounts appear here.",
};
