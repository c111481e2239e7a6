import { databaseParameterProblem } from "./database-parameters.ts";
import { ENCODE_PASSWORD, hasUnencodedPassword, portProblem } from "./url-encoding.ts";

const SCHEMES = /^postgres(?:ql)?:\/\//i;
/** The servers that libpq may be asked for among several hosts, of which the service can use these alone. */
const USABLE_SERVERS: ReadonlySet<string> = new Set(["read-write", "primary"]);
const SEVERAL_HOSTS = /^[^/]*\/\/(?:[^/?#]*@)?[^@/?#]*,/;

/** What is wrong with a DATABASE_URL, without the URL; `null`: nothing. */
export function databaseUrlProblem(url: string): string | null {
  if (!SCHEMES.test(url)) return "must be a URL that begins with postgres:// or postgresql://";
  if (hasUnencodedPassword(url)) return ENCODE_PASSWORD;
  if (SEVERAL_HOSTS.test(url)) {
    return "must name one host: use a name that always leads to the primary, such as that of a load balancer or a virtual address";
  }
  const problem = portProblem(url);
  if (problem !== null) return problem;
  if (!URL.canParse(url) || new URL(url).hostname === "") {
    return `must be a URL such as postgres://user:password@host:5432/database. If it is, ${ENCODE_PASSWORD}`;
  }
  const server = new URL(url).searchParams.get("target_session_attrs") ?? "primary";
  if (!USABLE_SERVERS.has(server)) {
    return "must not have this value of target_session_attrs: the service writes. Remove the parameter, or set it to read-write";
  }
  return databaseParameterProblem(new URL(url).searchParams);
}
