import { CONCURRENCY_RETRY_MS, ENDED_REMEMBERED_MS, SLOT_LEASE_MS, WINDOW_S } from "../contract/limits.ts";
import { RedisScript } from "./redis-script.ts";

// One hash for each account, `{account}` being the part a cluster hashes. Versions are compared as numbers: Lua's
// doubles hold every version up to 2^53, which is a change a microsecond for 285 years.
/**
 * How each script begins. Without `no-writes`, a server that refuses writes refuses the script (Redis 7, Valkey): a demoted primary must not
 * keep deciding by its old data. With `allow-oom` it runs when the memory of Redis is full.
 */
export const SCRIPT = `#!lua flags=allow-oom
`;

const CURRENT = `
local function current(version, known)
  return known and tonumber(version) >= tonumber(known)
end
`;

/** Expiry is always safe: the account is read again. */
const REMEMBERED_S = 24 * 60 * 60;

// What requests use does not expire: the database may be away when it would have to be read again, and the epoch must outlive what was
// admitted in it, which would be counted again.
const KEEP = `
local function keep()
  if redis.call('TTL', KEYS[1]) < ${REMEMBERED_S / 2} then redis.call('EXPIRE', KEYS[1], ${REMEMBERED_S}) end
end
`;

// All nodes share the clock of Redis. Tests pass their own.
const NOW = `
local function clock(given)
  if tonumber(given) then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
`;

const CHECK = `${SCRIPT}${CURRENT}${KEEP}
if not current(ARGV[1], redis.call('HGET', KEYS[1], 'version')) then return 0 end
keep()
return 1`;

// A window is a hash from seconds to the amount used in each. A second expires a minute after its last moment. Seconds far ahead are
// of a clock that was wrong and has been set back; after a failover the clock of the next server may be a little behind.
const COUNTS = `
local function counts(second, now)
  return (second + ${1 + WINDOW_S}) * 1000 > now and second * 1000 <= now + ${WINDOW_S * 1000}
end
`;
const WINDOW = `${COUNTS}
local function used(key, now)
  local flat = redis.call('HGETALL', key)
  local sum, seconds = 0, {}
  for index = 1, #flat, 2 do
    local second, amount = tonumber(flat[index]), tonumber(flat[index + 1])
    if not counts(second, now) then
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
`;
const TAKE = `
local function take(key, amount, now)
  redis.call('HINCRBY', key, math.floor(now / 1000), amount)
  redis.call('EXPIRE', key, ${2 * WINDOW_S})
end
`;

// A slot that was released before its admission arrives is not taken. Its request has ended, so the answer is not read.
// If a clock was ahead and has been set back, leases end too late. One that keeps a request out is shortened, as its node may be gone.
const ADMIT = `${SCRIPT}${CURRENT}${KEEP}${NOW}${WINDOW}${TAKE}
local version, rpm, tpm, concurrent = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local tokens, slot, now = tonumber(ARGV[5]), ARGV[6], clock(ARGV[7])
local lease = ${SLOT_LEASE_MS}
local known, epoch = unpack(redis.call('HMGET', KEYS[1], 'version', 'epoch'))
if not current(version, known) or redis.call('ZSCORE', KEYS[5], slot) then
  return { 0, 0, 0, 0, 0, 0, 0, '' }
end
keep()
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
if concurrent >= 0 and redis.call('ZCARD', KEYS[4]) >= concurrent then
  if retry < ${CONCURRENCY_RETRY_MS} then code, retry = 4, ${CONCURRENCY_RETRY_MS} end
  for _, ahead in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. now + lease, '+inf')) do
    redis.call('ZADD', KEYS[4], now + lease, ahead)
  end
end
if code ~= 1 then
  return { code, retry, 0, requestsUsed, reset(requestSeconds, now), tokensUsed, reset(tokenSeconds, now), '' }
end

local full = ${(1 + WINDOW_S) * 1000} - now % 1000
if rpm >= 0 then take(KEYS[2], 1, now) end
if tpm >= 0 then take(KEYS[3], tokens, now) end
redis.call('ZADD', KEYS[4], now + lease, slot)
redis.call('PEXPIRE', KEYS[4], 2 * lease)
return { 1, 0, math.floor(now / 1000), requestsUsed + 1, full, tokensUsed + tokens, full, epoch }`;

// Unlike ADMIT it keeps expired seconds, because a read must not write.
const USE = `${SCRIPT}${NOW}${COUNTS}
local now = clock(ARGV[1])

local function used(key)
  local flat = redis.call('HGETALL', key)
  local sum = 0
  for index = 1, #flat, 2 do
    if counts(tonumber(flat[index]), now) then sum = sum + tonumber(flat[index + 1]) end
  end
  return sum
end

return { used(KEYS[1]), used(KEYS[2]), redis.call('ZCOUNT', KEYS[3], '(' .. now, '+inf') }`;

// A release takes effect only if the slot exists, and so only once. The lease of a slot that was never renewed gives the time
// of its admission. If the second of the admission has expired, the tokens that the estimate lacked count from now, and the release
// returns this second. A contested release may arrive long after the end of its request, so it counts nothing from now.
const RELEASE = `${SCRIPT}${NOW}${TAKE}
local slot, second, tokens = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local cancelled, contested = ARGV[4] == '1', ARGV[5] == '1'
local now = (contested or tokens > 0) and clock(ARGV[6])
if contested then
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
  redis.call('ZADD', KEYS[4], now + ${ENDED_REMEMBERED_MS}, slot)
  redis.call('PEXPIRE', KEYS[4], ${ENDED_REMEMBERED_MS})
end
if not second then
  local lapses = redis.call('ZSCORE', KEYS[1], slot)
  if lapses then second = math.floor((tonumber(lapses) - ${SLOT_LEASE_MS}) / 1000) end
end
if redis.call('ZREM', KEYS[1], slot) == 0 then return 0 end

local function correct(key, more)
  local amount = redis.call('HGET', key, second)
  if amount then redis.call('HSET', key, second, math.max(0, tonumber(amount) + more)) end
end

if cancelled then correct(KEYS[3], -1) end
if tokens > 0 and not contested and (second + ${1 + WINDOW_S}) * 1000 <= now then
  take(KEYS[2], tokens, now)
  return math.floor(now / 1000)
end
correct(KEYS[2], tokens)
return 0`;

// Takes lost slots again even above the limit, because their requests are running. A renewal that arrives late does not take a
// slot that was released.
const RENEW = `${SCRIPT}${NOW}
local now = clock(ARGV[1])
for index = 2, #ARGV do
  if not redis.call('ZSCORE', KEYS[2], ARGV[index]) then
    redis.call('ZADD', KEYS[1], now + ${SLOT_LEASE_MS}, ARGV[index])
  end
end
redis.call('PEXPIRE', KEYS[1], ${2 * SLOT_LEASE_MS})
return 1`;

// The use of a node is counted again once for each epoch in which it was admitted. If the epoch is the present one, nothing was lost.
const RECOUNT = `${SCRIPT}${NOW}${COUNTS}
local node, epoch, now = ARGV[1], ARGV[2], clock(ARGV[3])
if redis.call('HGET', KEYS[1], 'epoch') == epoch then return 0 end
if redis.call('SADD', KEYS[4], node .. ':' .. epoch) == 0 then return 0 end
redis.call('EXPIRE', KEYS[4], ${2 * WINDOW_S})

local function add(key, second, amount)
  if amount <= 0 then return end
  redis.call('HINCRBY', key, second, amount)
end

for index = 4, #ARGV, 3 do
  local second = tonumber(ARGV[index])
  if counts(second, now) then
    add(KEYS[2], second, tonumber(ARGV[index + 1]))
    add(KEYS[3], second, tonumber(ARGV[index + 2]))
  end
end
for key = 2, 3 do redis.call('EXPIRE', KEYS[key], ${2 * WINDOW_S}) end
return 1`;

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

const COMMIT_READ = `${SCRIPT}${RAISE}
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[2] then return 0 end
raise(ARGV[1])
return 1`;

/**
 * Code, milliseconds to wait, second of admission; used and milliseconds to the reset of requests, and of tokens; the account's epoch
 * if the request is admitted.
 */
export type AdmitReply = readonly [number, number, number, number, number, number, number, Buffer];

/** Requests and tokens of the minute, and requests being answered. */
type UseReply = readonly [number, number, number];

/**
 * The scripts, and which keys of the account are their `KEYS`: its version and epoch (no suffix), requests and tokens of the last minute,
 * concurrency slots (`:places`, their first name: nodes of several versions share the key), slots that have ended, and nodes whose use was
 * counted again.
 */
export const SCRIPTS = {
  check: new RedisScript<number>(CHECK, [""]),
  admit: new RedisScript<AdmitReply>(ADMIT, ["", ":requests", ":tokens", ":places", ":ended"]),
  use: new RedisScript<UseReply>(USE, [":requests", ":tokens", ":places"]),
  release: new RedisScript<number>(RELEASE, [":places", ":tokens", ":requests", ":ended"]),
  // A renewal that is repeated could take a slot that was released meanwhile.
  renew: new RedisScript<number>(RENEW, [":places", ":ended"], { mayRepeat: false }),
  recount: new RedisScript<number>(RECOUNT, ["", ":requests", ":tokens", ":recounted"]),
  publish: new RedisScript<number>(PUBLISH, [""]),
  epoch: new RedisScript<Buffer>(EPOCH, [""]),
  commitRead: new RedisScript<number>(COMMIT_READ, [""]),
};

/** KEYS: the position. ARGV: the epoch that may be replaced, the new epoch and its tick. */
export const MOVE_POSITION = `${SCRIPT}
local epoch, tick = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'tick'))
if epoch and epoch ~= ARGV[1] then return 0 end
if epoch == ARGV[2] and tonumber(tick) >= tonumber(ARGV[3]) then return 1 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[2], 'tick', ARGV[3])
return 1`;

/** KEYS: any. ARGV: a value. Sets it unless there is one, which is returned. A plain SET would be refused when the memory of Redis is full. */
export const SET_IF_NEW = `${SCRIPT}
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET')`;
