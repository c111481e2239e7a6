import { CONCURRENCY_RETRY_MS, WINDOW_S } from "./limits.ts";

// One hash for each account, `{account}` being the part a cluster hashes. Versions are compared as numbers: Lua's
// doubles hold every version up to 2^53, which is a change a microsecond for 285 years.
// The shebang without `no-writes` makes a replica refuse the script (Redis 7, Valkey): one that was a primary until a
// moment ago must not go on deciding by what it knew then.
const SCRIPT = `#!lua flags=allow-oom
`;

const CURRENT = `
local function current(version)
  local known = redis.call('HGET', KEYS[1], 'version')
  return known and tonumber(version) >= tonumber(known)
end
`;

const CHECK = `${SCRIPT}${CURRENT}
if current(ARGV[1]) then return 1 end
return 0`;

// A window is a hash of seconds and what was used in each. A second leaves when its last moment is a minute ago.
const WINDOW = `
local function used(key, now)
  local flat = redis.call('HGETALL', key)
  local sum, seconds = 0, {}
  for index = 1, #flat, 2 do
    local second, amount = tonumber(flat[index]), tonumber(flat[index + 1])
    if (second + ${1 + WINDOW_S}) * 1000 <= now then
      redis.call('HDEL', key, flat[index])
    else
      sum = sum + amount
      seconds[#seconds + 1] = { second, amount }
    end
  end
  table.sort(seconds, function(a, b) return a[1] < b[1] end)
  return sum, seconds
end

local function wait(seconds, excess, now)
  if excess <= 0 then return 0 end
  for _, entry in ipairs(seconds) do
    excess = excess - entry[2]
    if excess <= 0 then return (entry[1] + ${1 + WINDOW_S}) * 1000 - now end
  end
  return 0
end

local function reset(seconds, now)
  local last = seconds[#seconds]
  if last then return (last[1] + ${1 + WINDOW_S}) * 1000 - now end
  return 0
end

local function take(key, amount, now)
  redis.call('HINCRBY', key, math.floor(now / 1000), amount)
  redis.call('EXPIRE', key, ${2 * WINDOW_S})
end
`;

const ADMIT = `${SCRIPT}${CURRENT}${WINDOW}
local version, rpm, tpm, concurrent = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local tokens, place, lease, now = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
if not current(version) then return { 0, 0, 0, 0, 0, 0, 0 } end
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
if tpm >= 0 and tokens > tpm then tokens = tpm end

local code, retry = 1, 0
local requestsUsed, requestSeconds = 0, {}
if rpm >= 0 then
  requestsUsed, requestSeconds = used(KEYS[2], now)
  local ms = wait(requestSeconds, requestsUsed + 1 - rpm, now)
  if ms > retry then code, retry = 2, ms end
end
local tokensUsed, tokenSeconds = 0, {}
if tpm >= 0 then
  tokensUsed, tokenSeconds = used(KEYS[3], now)
  local ms = wait(tokenSeconds, tokensUsed + tokens - tpm, now)
  if ms > retry then code, retry = 3, ms end
end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
if concurrent >= 0 and redis.call('ZCARD', KEYS[4]) >= concurrent and retry < ${CONCURRENCY_RETRY_MS} then
  code, retry = 4, ${CONCURRENCY_RETRY_MS}
end
if code ~= 1 then
  return { code, retry, 0, requestsUsed, reset(requestSeconds, now), tokensUsed, reset(tokenSeconds, now) }
end

local full = ${(1 + WINDOW_S) * 1000} - now % 1000
if rpm >= 0 then take(KEYS[2], 1, now) end
if tpm >= 0 then take(KEYS[3], tokens, now) end
redis.call('ZADD', KEYS[4], now + lease, place)
redis.call('PEXPIRE', KEYS[4], 2 * lease)
return { 1, 0, math.floor(now / 1000), requestsUsed + 1, full, tokensUsed + tokens, full }`;

// Unlike ADMIT it leaves behind what has run out: asking how much is used must not write.
const USE = `${SCRIPT}
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function used(key)
  local flat = redis.call('HGETALL', key)
  local sum = 0
  for index = 1, #flat, 2 do
    if (tonumber(flat[index]) + ${1 + WINDOW_S}) * 1000 > now then sum = sum + tonumber(flat[index + 1]) end
  end
  return sum
end

return { used(KEYS[1]), used(KEYS[2]), redis.call('ZCOUNT', KEYS[3], '(' .. now, '+inf') }`;

const RELEASE = `${SCRIPT}
redis.call('ZREM', KEYS[1], ARGV[1])
local amount = redis.call('HGET', KEYS[2], ARGV[2])
if amount then redis.call('HSET', KEYS[2], ARGV[2], math.max(0, tonumber(amount) + tonumber(ARGV[3]))) end
return 1`;

// A place that was given back, or whose lease has run out, is not taken again.
const RENEW = `${SCRIPT}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], 2 * tonumber(ARGV[2]))
return 1`;

// What expires is forgotten, which is always safe: the account is read again, once a day at most.
const REMEMBERED_S = 24 * 60 * 60;

const RAISE = `
local function raise(version)
  local known = redis.call('HGET', KEYS[1], 'version')
  if not known or tonumber(version) > tonumber(known) then redis.call('HSET', KEYS[1], 'version', version) end
  redis.call('EXPIRE', KEYS[1], ${REMEMBERED_S})
end
`;

const PUBLISH = `${SCRIPT}${RAISE}
if redis.call('HEXISTS', KEYS[1], 'version') == 0 then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[2])
  redis.call('EXPIRE', KEYS[1], ${REMEMBERED_S})
  return 0
end
raise(ARGV[1])
return 1`;

const EPOCH = `${SCRIPT}
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
redis.call('EXPIRE', KEYS[1], ${REMEMBERED_S})
return redis.call('HGET', KEYS[1], 'epoch')`;

const VOUCH = `${SCRIPT}${RAISE}
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[2] then return 0 end
raise(ARGV[1])
return 1`;

/** Code, milliseconds to wait, second of admission; used and milliseconds to the reset of requests, and of tokens. */
export type AdmitReply = readonly [number, number, number, number, number, number, number];

/** Requests and tokens of the minute, and requests being answered. */
export type UseReply = readonly [number, number, number];

/** The scripts as ioredis makes them methods: first the keys, then the arguments. */
export interface Scripts {
  ostiaryCheck(key: string, version: string): Promise<number>;
  ostiaryAdmit(
    key: string,
    requests: string,
    tokens: string,
    places: string,
    version: string,
    requestsPerMinute: string,
    tokensPerMinute: string,
    concurrentRequests: string,
    demandedTokens: string,
    place: string,
    leaseMs: string,
    nowMs: string,
  ): Promise<AdmitReply>;
  ostiaryUse(requests: string, tokens: string, places: string, nowMs: string): Promise<UseReply>;
  ostiaryRelease(places: string, tokens: string, place: string, atS: string, more: string): Promise<number>;
  ostiaryRenew(places: string, place: string, leaseMs: string): Promise<number>;
  ostiaryPublish(key: string, version: string, freshEpoch: string): Promise<number>;
  ostiaryEpoch(key: string, freshEpoch: string): Promise<string>;
  ostiaryVouch(key: string, version: string, epoch: string): Promise<number>;
}

export const SCRIPTS = {
  ostiaryCheck: { lua: CHECK, numberOfKeys: 1 },
  ostiaryAdmit: { lua: ADMIT, numberOfKeys: 4 },
  ostiaryUse: { lua: USE, numberOfKeys: 3 },
  ostiaryRelease: { lua: RELEASE, numberOfKeys: 2 },
  ostiaryRenew: { lua: RENEW, numberOfKeys: 1 },
  ostiaryPublish: { lua: PUBLISH, numberOfKeys: 1 },
  ostiaryEpoch: { lua: EPOCH, numberOfKeys: 1 },
  ostiaryVouch: { lua: VOUCH, numberOfKeys: 1 },
};
