import { ENCODE_PASSWORD, hasUnencodedPassword, portProblem } from "./url-encoding.ts";

const SCHEMES = /^postgres(?:ql)?:\/\//i;
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
  if (!URL.canParse(url)) {
    return `must be a URL such as postgres://user:password@host:5432/database. If it is, ${ENCODE_PASSWORD}`;
  }
  return null;
}
