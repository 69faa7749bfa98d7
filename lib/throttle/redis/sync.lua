-- Publishes one process's figures of subjects' windows, grants it time, and tells it the other processes' figures. What
-- a key costs does not depend on how many processes live or have lived in the window: their sums are kept beside them.
--
-- KEYS[i]  hash of one subject's window. One field for each process, 'seq:spent', or 'seq:spent:hold:running:slack:at'
--          where something is going on, at being the milliseconds from the window's start at which it was written. Beside
--          them
--            t  'incarnation:gone:inherited:sum', and '/limit' where the latest write found its limit exceeded: when this hash was made, in milliseconds from the window's start;
--               what closed processes have handed over; what was taken over from an earlier incarnation that was lost;
--               the sum of spent over all fields
--            h  'stretch:number:' and twice 'hold:running:slack:processes:': sums over the fields written in this
--               stretch of time, and in the one before. What is older has lapsed: its process was killed, or is silent
--            x  'process@at,': processes closed a moment ago. A late command of theirs must not bring them back
--          A value that begins with 'v' is of a later version of this package, and stays as it is.
-- ARGV     1 JSON, for each key [process, then what the parameters of sync() below are called]. Times are this server's
--          TIME in microseconds, leaseMs is milliseconds, seq, stored and running are counts, closing is 0 or 1, the
--          rest whole microseconds. Spent is negative after a reset.
-- Output   for each key {time}: nothing was written, because the window is not the open one, the command is late, a
--          newer one was here before, or the process is closed; or {time, 'cause'}: the key cannot be read, no other key
--          is concerned; else {time, others' spent, others' running, what others hold, granted, more, lone, seq,
--          incarnation, ended}: slack granted, what more there is, whether one request is admitted because nothing runs
--          anywhere, the seq this process's field had, the hash's incarnation and what ended processes have charged.
--
-- Idempotent: figures are absolute and numbered. Every write sets the expiry to the window's end.
local call, match, format, tonumber = redis.call, string.match, string.format, tonumber
local floor, max, min, sub = math.floor, math.max, math.min, string.sub
local commands, answers = cjson.decode(ARGV[1]), {}
local STRETCH_MS, FENCED_MS = 2000, 10000

for i = 1, #KEYS do
  for j = 2, 19 do
    local n = commands[i][j]
    if not (n and n % 1 == 0 and n > -9e15 and n < 9e15) then -- NaN, too, is a number to Lua
      return redis.error_reply('ERR sync: ARGV[1][' .. i .. '][' .. j .. '] is not a whole number')
    end
  end
end

local clock = call('TIME')
local time = clock[1] * 1000000 + clock[2]

local function isLater(value)
  return value and sub(value, 1, 1) == 'v'
end

local function sync(key, process, starts, ends, validUntil, seq, stored, spent, hold, running, want, unit, slice, keep, limit, tolerance, leaseMs, incarnation, ended, closing)
  if time < starts or time >= ends or time > validUntil then return {time} end

  local now = floor((time - starts) / 1000) -- milliseconds into the window, to keep the fields short
  local got = call('HMGET', key, process, 't', 'h', 'x')
  local mine, totals, holds, closed = got[1], got[2], got[3], got[4]
  if isLater(totals) or isLater(mine) then return {time, 'it is of a later version of express-tollgate'} end
  if closed and not mine and string.find(closed, process .. '@', 1, true) then return {time} end

  -- This process's figures as they were.
  local found, wasSpent, wasHold, wasRunning, wasSlack, wasAt = 0, 0, 0, 0, 0, false
  if mine then
    local s, sp, ho, ru, sl, at = match(mine, '^(%d+):(%-?%d+):?(%d*):?(%d*):?(%d*):?(%d*)$')
    if s then
      found, wasSpent = tonumber(s), tonumber(sp)
      if ho ~= '' then wasHold, wasRunning, wasSlack, wasAt = tonumber(ho), tonumber(ru), tonumber(sl), tonumber(at) end
    else
      mine = false
    end
  end
  if found >= seq then return {time} end

  -- The sum of what was spent. Taken from all fields where it is not known, or where this process's own was lost.
  local made, gone, inherited, sum = match(totals or '', '^(%d+):(%-?%d+):(%d+):(%-?%d+)/?%d*$')
  if made then made, gone, inherited, sum = tonumber(made), tonumber(gone), tonumber(inherited), tonumber(sum) end
  if not made or (stored > 0 and not mine) then
    if not made then made, gone, inherited = now, 0, 0 end
    sum = 0
    local fields = call('HGETALL', key)
    for i = 1, #fields, 2 do
      if #fields[i] > 1 then sum = sum + (match(fields[i + 1], '^%d+:(%-?%d+)') or 0) end
    end
    if not mine and got[1] then sum = sum - (match(got[1], '^%d+:(%-?%d+)') or 0) end
  end
  if incarnation < made and ended > inherited then inherited = ended end -- what an earlier hash had is lost otherwise

  -- What is held by those who were heard of in this stretch of time or in the one before.
  local stretch = max(STRETCH_MS, leaseMs)
  local h0, r0, s0, n0, h1, r1, s1, n1 = 0, 0, 0, 0, 0, 0, 0, 0
  local current = floor(now / stretch)
  if holds and holds ~= '' then
    local of, number, a, b, c, d, e, f, g, h = match(holds, '^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$')
    if of then
      of, number = tonumber(of), tonumber(number)
      if of > stretch then
        stretch, current = of, floor(now / of)
      elseif of < stretch then
        number = current - 1
      end
      if number == current then
        h0, r0, s0, n0, h1, r1, s1, n1 = a + 0, b + 0, c + 0, d + 0, e + 0, f + 0, g + 0, h + 0
      elseif number == current - 1 then
        h1, r1, s1, n1 = a + 0, b + 0, c + 0, d + 0
      end
    end
  end
  if wasAt then
    local number = floor(wasAt / stretch)
    if number == current then
      h0, r0, s0, n0 = max(0, h0 - wasHold), max(0, r0 - wasRunning), max(0, s0 - wasSlack), max(0, n0 - 1)
    elseif number == current - 1 then
      h1, r1, s1, n1 = max(0, h1 - wasHold), max(0, r1 - wasRunning), max(0, s1 - wasSlack), max(0, n1 - 1)
    end
  end

  local otherSpent, otherRunning, otherHeld = sum - wasSpent + gone + inherited, r0 + r1, h0 + h1 + s0 + s1
  local left, granted, more, lone = 0, 0, 0, false
  local open = otherSpent + spent <= limit -- exactly at the limit is not exceeded
  if closing == 1 then
    sum, gone = sum - wasSpent, gone + spent
  else
    if open then left = max(0, limit + tolerance - otherSpent - otherHeld - spent - hold) end
    granted = want
    if want > left then granted = left - left % unit end -- as many whole requests as fit
    lone = open and want > 0 and granted < unit and running + otherRunning == 0
    if lone then granted = 0 end
    local ahead = min(slice, floor((left - granted) / (2 * (1 + n0 + n1)))) -- never strand the end of a budget
    if unit > 0 then ahead = ahead - ahead % unit end
    granted = max(granted + ahead, keep)
    more = max(0, left - granted) + s0 + s1
    sum = sum - wasSpent + spent
  end

  local figures = format('%d:%d', seq, spent)
  local slack = lone and granted + unit or granted
  if closing == 0 and hold + running + want + slack > 0 then
    if running == 0 and want > 0 and slack > 0 then running = 1 end
    if hold + running + slack > 0 then
      figures = format('%s:%d:%d:%d:%d', figures, hold, running, slack, now)
      h0, r0, s0, n0 = h0 + hold, r0 + running, s0 + slack, n0 + 1
    end
  end

  local sums = format(open and '%d:%d:%d:%d' or '%d:%d:%d:%d/%d', made, gone, inherited, sum, limit)
  local held = ''
  if n0 + n1 > 0 then
    held = format('%d:%d:%d:%d:%d:%d:%d:%d:%d:%d', stretch, current, h0, r0, s0, n0, h1, r1, s1, n1)
  end
  if closing == 1 then
    local fence = process .. '@' .. now .. ','
    for name, at in string.gmatch(closed or '', '([^@,]+)@(%d+),') do
      if now - at < FENCED_MS then fence = fence .. name .. '@' .. at .. ',' end
    end
    call('HSET', key, 't', sums, 'h', held, 'x', fence)
    if got[1] then call('HDEL', key, process) end
  elseif held == '' or held == holds then
    call('HSET', key, process, figures, 't', sums)
    if held == '' and holds then call('HDEL', key, 'h') end
  else
    call('HSET', key, process, figures, 't', sums, 'h', held)
  end
  call('PEXPIREAT', key, format('%d', ends / 1000))
  return {time, otherSpent, otherRunning, otherHeld, granted, more, lone and 1 or 0, found, made, gone + inherited}
end

for i = 1, #KEYS do
  local done, answer = pcall(sync, KEYS[i], unpack(commands[i]))
  if not done then
    local cause = type(answer) == 'table' and answer.err or answer
    if not match(cause, 'WRONGTYPE') then return redis.error_reply(cause) end
    answer = {time, cause}
  end
  answers[i] = answer
end
return answers
