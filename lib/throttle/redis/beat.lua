-- Writes a heartbeat of one process, counts the processes that live, and says whether data may have been lost.
--
-- KEYS[1]  the living, a sorted set: processes by the time of their last heartbeat, milliseconds
-- KEYS[2]  the canary, a text that is lost with all other keys
-- KEYS[3]  the refusals, a hash: what processes refuse, by their names
-- KEYS[4]  the terms, a hash: windows with their terms, when they were stated last, and by which process
-- ARGV     1 the process   2 after so many milliseconds without a heartbeat a process counts no more
--          3 how long the first two keys are kept, milliseconds
--          4 what the process refuses, else empty   5 and on: its windows with their terms
-- Returns  {the time in microseconds, how many processes live, the token: a text that changes where the server has
--          restarted, failed over, evicted keys or lost them, windows with their terms that other processes have stated}
local call, try, living, canary, refusals, terms = redis.call, redis.pcall, KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function whole(n)
  return string.format('%d', n)
end

-- A key of another type, or of somebody else, is made anew: one key is no outage.
local function remade(key, ...)
  local reply = try(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.match(reply.err, 'WRONGTYPE') then return call(...) end -- fails with the cause
  call('DEL', key)
  return call(...)
end

remade(living, 'ZADD', living, whole(now), ARGV[1])
call('ZREMRANGEBYSCORE', living, '-inf', whole(now - ARGV[2]))
call('PEXPIREAT', living, whole(now + ARGV[3]))
if ARGV[4] ~= '' then
  remade(refusals, 'HSET', refusals, ARGV[1], whole(now) .. ' ' .. ARGV[4])
  call('PEXPIREAT', refusals, whole(now + ARGV[2]))
end

local others, kept, isStale = {}, {}, false
if ARGV[5] then
  for i = 5, #ARGV do remade(terms, 'HSET', terms, ARGV[i], whole(now) .. ' ' .. ARGV[1]) end
  local all = call('HGETALL', terms)
  for i = 1, #all, 2 do
    local at, process = string.match(all[i + 1], '^(%d+) (.*)$')
    local age = now - (tonumber(at) or 0)
    if age < tonumber(ARGV[2]) and process ~= ARGV[1] then others[#others + 1] = all[i] end
    if age < tonumber(ARGV[3]) then kept[#kept + 1], kept[#kept + 2] = all[i], all[i + 1] else isStale = true end
  end
  if isStale then
    call('DEL', terms)
    for i = 1, #kept, 2 do call('HSET', terms, kept[i], kept[i + 1]) end
  end
  call('PEXPIREAT', terms, whole(now + ARGV[3]))
end

local text = remade(canary, 'GET', canary)
if not text then
  text = time[1] .. '.' .. time[2]
  call('SET', canary, text)
end
call('PEXPIREAT', canary, whole(now + ARGV[3]))
-- A user without the right to INFO has the canary alone.
local token = text
for _, section in ipairs({'server', 'stats'}) do
  local info = try('INFO', section)
  if type(info) == 'string' then
    token = token .. ' ' .. (string.match(info, 'run_id:(%w+)') or string.match(info, 'evicted_keys:(%d+)') or '')
  end
end
return {whole(time[1] * 1000000 + time[2]), call('ZCARD', living), token, others}
