import { MOVE_POSITION, SCRIPT, SCRIPTS } from "./redis-scripts.ts";

/** What scripts run. */
const IN_SCRIPTS = [...Object.values(SCRIPTS).map(({ lua }) => lua), MOVE_POSITION].flatMap((lua) =>
  [...lua.matchAll(/redis\.call\('([A-Z]+)'/g)].map(([, command = ""]) => command),
);
/** What is run without a script, also for the counters of sign-in attempts. */
const BESIDE_SCRIPTS = ["DEL", "EXISTS", "GET", "HMGET", "INCRBY", "MULTI", "EXEC", "PTTL", "SET"];

/** The commands that the user of Redis must be allowed. `INFO` is not among them, because nodes can do without it. */
export const NEEDED_COMMANDS: readonly string[] = [...new Set([...IN_SCRIPTS, ...BESIDE_SCRIPTS])].sort();

/**
 * KEYS: any of the service's. ARGV: commands. Returns those that the user who runs it may not run. Redis 6 can't tell. Redis does not compare the
 * number of arguments with what the command needs, and reads beyond the last, so each command has as many as it may have: nothing runs.
 * Redis refuses this script whenever it refuses those of the service, because it is declared to write as they are.
 */
export const REFUSED_COMMANDS = `${SCRIPT}
  local without_key = {EXEC = true, MULTI = true, TIME = true}
  local of_keys = {DEL = true, EXISTS = true}
  local refused = {}
  for _, command in ipairs(redis.acl_check_cmd and ARGV or {}) do
    local arguments = {command, KEYS[1], 'x', 'x', 'x', 'x'}
    if without_key[command] then arguments = {command} elseif of_keys[command] then arguments = {command, KEYS[1]} end
    if not redis.acl_check_cmd(unpack(arguments)) then table.insert(refused, command) end
  end
  return refused`;

/** The permissions that suffice, as a rule of Redis' access control list. */
export function sufficientRule(prefix: string): string {
  return `~${prefix}:* +@read +@write +@connection +@transaction +@scripting +time +info`;
}
