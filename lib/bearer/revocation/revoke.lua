-- Writes revocations down, each once.
--
-- KEYS[1]  zset of revocations; the score is the number it was written under
-- KEYS[2]  zset of the same revocations; the score is when they are over, milliseconds since 1970
-- KEYS[3]  the last number
-- ARGV     1 milliseconds since 1970   2... over, revocation, in turn: milliseconds since 1970, a text of letters,
--          digits and ':+/='
--
-- Idempotent: one that is there already keeps its number. All three keys expire when the last revocation is over. The
-- first number is the time in thousandths of a millisecond: a history that begins anew, because Redis has lost its data,
-- never has the numbers of an earlier one.
local call = redis.call
local function whole(text)
  local n = tonumber(text)
  if not (n and n >= 0 and n < 9e15 and n == math.floor(n)) then -- 'nan', 'inf' and '0x10' are numbers to Lua
    error('revoke: ' .. tostring(text) .. ' is not a whole number')
  end
  return n
end

local now = whole(ARGV[1])
local overdue = call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1000)
for _, entry in ipairs(overdue) do
  call('ZREM', KEYS[1], entry)
  call('ZREM', KEYS[2], entry)
end
for i = 2, #ARGV, 2 do
  local over = whole(ARGV[i])
  if over > now and not call('ZSCORE', KEYS[1], ARGV[i + 1]) then
    call('SET', KEYS[3], ARGV[1] .. '000', 'NX')
    call('ZADD', KEYS[1], call('INCR', KEYS[3]), ARGV[i + 1])
    call('ZADD', KEYS[2], over, ARGV[i + 1])
  end
end
local last = call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
if last[2] then
  for _, key in ipairs(KEYS) do call('PEXPIREAT', key, last[2]) end
end
