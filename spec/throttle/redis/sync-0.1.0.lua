-- The script of express-tollgate 0.1.0, as it was published. Only spec/throttle/redis/rolling-upgrade.spec.ts runs it.
-- Publishes one process's figures of subjects' windows, grants it time, and tells it the others' figures.
--
-- KEYS[i]  hash of one subject's window; one field a process: 'seq:spent:hold:running:slack:until', until in
--          milliseconds from the window's start; or 'seq:spent' where the rest is nothing; and after all six ':limit'
--          where this write found the limit exceeded, so that who is refused can be seen from outside
-- ARGV     1 process   2 JSON, for each key [start, end, seq, spent, hold, running, want, unit, slice, keep, limit,
--          tolerance, lease]
--          Lease and until are milliseconds, seq and running counts, the rest whole microseconds; start, end and the
--          answer's time are this server's TIME. Spent is negative after a reset.
-- Output   for each key {time}: nothing was written, because the window is not the open one or a newer command was
--          here before; else {time, others' spent, others' running, granted, more, lone, seq}: slack granted, what more
--          is to be had, whether one request is admitted because nothing runs anywhere, the seq this process's field
--          had.
--
-- Idempotent: figures are absolute and numbered. Every write sets the expiry to the window's end.
local call, match, format, tonumber = redis.call, string.match, string.format, tonumber
local floor, max, min = math.floor, math.max, math.min
local process, commands, answers = ARGV[1], cjson.decode(ARGV[2]), {}
for i = 1, #KEYS do
  for j = 1, 13 do
    local n = commands[i][j]
    if not (n and n % 1 == 0 and n > -9e15 and n < 9e15) then -- NaN, too, is a number to Lua
      return redis.error_reply('ERR sync: ARGV[2][' .. i .. '][' .. j .. '] is not a whole number')
    end
  end
end

local clock = call('TIME')
local time = clock[1] * 1000000 + clock[2]

local function sync(key, starts, ends, seq, spent, hold, running, want, unit, slice, keep, limit, tolerance, lease)
  if time < starts or time >= ends then return {time} end

  local now = floor((time - starts) / 1000) -- milliseconds into the window, to keep the fields short
  local found, otherSpent, otherHold, otherSlack, otherRunning, sharers = 0, 0, 0, 0, 0, 1
  local fields = call('HGETALL', key)
  for i = 1, #fields, 2 do
    if fields[i] == process then
      found = tonumber(match(fields[i + 1], '^%d+'))
    else
      local sp, ho, ru, sl, till = match(fields[i + 1], ':(%-?%d+):?(%d*):?(%d*):?(%d*):?(%d*)')
      otherSpent = otherSpent + sp
      if ho ~= '' then
        local silent = now - till
        otherHold = otherHold + ho
        if silent < 0 then otherSlack = otherSlack + sl end -- slack is a lease
        if silent < 2 * lease then otherRunning, sharers = otherRunning + ru, sharers + 1 end -- a killed one runs nothing
      end
    end
  end
  if found >= seq then return {time} end

  local left = 0
  local open = otherSpent + spent <= limit -- exactly at the limit is not exceeded
  if open then left = max(0, limit + tolerance - otherSpent - otherHold - otherSlack - spent - hold) end
  local granted = want
  if want > left then granted = left - left % unit end -- as many whole requests as fit
  local lone = open and want > 0 and granted < unit and running + otherRunning == 0
  if lone then granted = 0 end
  local ahead = min(slice, floor((left - granted) / (2 * sharers))) -- never strand the end of a budget
  if unit > 0 then ahead = ahead - ahead % unit end
  granted = max(granted + ahead, keep)
  if running == 0 and want > 0 and (lone or granted > 0) then running = 1 end

  local slack = lone and granted + unit or granted
  local figures
  if hold + running + slack > 0 then
    figures = format('%d:%d:%d:%d:%d:%d', seq, spent, hold, running, slack, now + lease)
  else
    figures = format(open and '%d:%d' or '%d:%d::::', seq, spent)
  end
  if not open then figures = figures .. format(':%d', limit) end
  call('HSET', key, process, figures)
  call('PEXPIREAT', key, format('%d', ends / 1000))
  return {time, otherSpent, otherRunning, granted, max(0, left - granted) + otherSlack, lone and 1 or 0, found}
end

for i = 1, #KEYS do answers[i] = sync(KEYS[i], unpack(commands[i])) end
return answers
