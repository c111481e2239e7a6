import { parseRedisUrl } from "./redis-url.ts";

/** Where the URL of a database leads, for people: host, port and name, without user and password. */
export function databasePlace(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl);
  return `${host}${pathname}`;
}

/** The servers of `REDIS_URL`, for people to read. `URL` rejects one with several hosts. */
export function redisPlace(redisUrl: string): string {
  const { kind, hosts } = parseRedisUrl(redisUrl);
  if (kind === "server") return databasePlace(redisUrl);
  return hosts.map(({ host, port }) => `${host}:${port}`).join(", ");
}
