-- Publishes one process's figures of subjects' windows, grants it time, and tells it the other processes' figures. What
-- a key costs does not depend on how many processes live or have lived in the window: their sums are kept beside them.
-- Numbers are packed, because text takes twice as long.
--
-- KEYS[i]  hash of one subject's window. One field for each process: FIGURES, and PRESENT where something is going on.
--          Beside them
--            t  TOTALS, ENDED where that is not nothing, and LIMIT where the latest write found its limit exceeded
--            h  HELD: sums over the fields written in one stretch of time, and in the one before. What is older has
--               lapsed: its process was killed, or is silent
--            x  'process@at,': processes closed a moment ago. A late command of theirs must not bring them back
-- ARGV[1]  for each key COMMAND: the process, which a byte of zero ends, and what the parameters of sync() below are
--          called. Times are this server's TIME in microseconds, leaseMs is milliseconds, seq, stored and running are
--          counts, closing is 0 or 1, the rest whole microseconds. Spent is negative after a reset.
-- Output   1: for each key REPLY: the time; whether something was WRITTEN. If so, others' spent, others' running, what
--          others hold, slack granted, what more there is, whether one request is admitted because nothing runs
--          anywhere, the seq that this process's field had, the hash's incarnation, and what ended processes have
--          charged. NOTHING is written where the window is not the open one, the command is late, a newer one was here
--          before, or the process is closed; nor where the key is UNREADABLE, which concerns no other key.
--          2 and on: for each key that is unreadable its cause.
--          One text for all, since a client takes ten times as long for as many numbers.
--
-- Idempotent: figures are absolute and numbered. Every write sets the expiry to the window's end.
local call, match, format, pack, unpacked = redis.call, string.match, string.format, struct.pack, struct.unpack
local floor, max, min, byte = math.floor, math.max, math.min, string.byte
local STRETCH_MS, FENCED_MS = 2000, 10000

local COMMAND, COMMAND_BYTES = '<sdddddddddddddddddd', 144 -- beside the process
local REPLY, NOTHING, WRITTEN, UNREADABLE = '<ddddddddddd', 0, 1, 2
-- seq, spent
local FIGURES, FIGURES_BYTES = '<I5i7', 12
-- hold, running, slack, at: when it was written, in milliseconds from the window's start
local PRESENT, PRESENT_BYTES = '<I7I4I7I5', 35
-- version of this format; incarnation: when this hash was made, in milliseconds from the window's start; sum of spent
-- over all fields
local VERSION, TEXT, TOTALS, TOTALS_BYTES = 2, 32, '<BI5i7', 13 -- versions end where text begins
-- gone: what closed processes have handed over; inherited: what was taken over from an earlier incarnation that was lost
local ENDED, ENDED_BYTES = '<i7I7', 14
local LIMIT, LIMIT_BYTES = '<I7', 7
-- length of a stretch in milliseconds, its number, and twice hold, running, slack, processes
local HELD, HELD_BYTES = '<I4I5I7I4I7I4I7I4I7I4', 53

local commands, places, place = ARGV[1] or '', {}, 1
for i = 1, #KEYS do
  places[i] = place
  local zero = string.find(commands, '\0', place, true)
  if not zero or zero == place then return redis.error_reply('ERR sync: command ' .. i .. ' is missing') end
  place = zero + 1 + COMMAND_BYTES
end
if place ~= #commands + 1 then return redis.error_reply('ERR sync: ARGV[1] is not ' .. #KEYS .. ' commands') end

local clock = call('TIME')
local time = clock[1] * 1000000 + clock[2]

local function isFigures(value)
  return #value == FIGURES_BYTES or #value == PRESENT_BYTES
end

-- What was spent, over all processes' fields. This is the one thing that takes longer the more there are, so it reads
-- neither their names, which take as long as all the rest, nor more than the bytes of one number. What stands beside the
-- processes' fields is told apart by its value.
local function sumOfSpent(key, totals, holds)
  local sum, closed, values = 0, call('HMGET', key, 'x')[1], call('HVALS', key)
  for i = 1, #values do
    local value = values[i]
    if isFigures(value) and value ~= totals and value ~= holds and value ~= closed then
      local a, b, c, d, e, f, g = byte(value, 6, 12) -- FIGURES: the lowest first, the highest has the sign
      if g > 127 then g = g - 256 end
      sum = sum + a + 256 * (b + 256 * (c + 256 * (d + 256 * (e + 256 * (f + 256 * g)))))
    end
  end
  return sum
end

local function sync(key, process, starts, ends, validUntil, seq, stored, spent, hold, running, want, unit, slice, keep, limit, tolerance, leaseMs, incarnation, ended, closing)
  if time < starts or time >= ends or time > validUntil then return end

  local now = floor((time - starts) / 1000) -- milliseconds into the window, to keep the fields short
  local got = call('HMGET', key, 't', 'h', process)
  local totals, holds, mine = got[1], got[2], got[3]
  local version = totals and byte(totals) or VERSION
  if version > VERSION and version < TEXT then return 'it is of a later version of express-tollgate' end
  local closed = (closing == 1 or not mine) and call('HMGET', key, 'x')[1]
  if closed and not mine and string.find(closed, process .. '@', 1, true) then return end

  -- This process's figures as they were.
  local found, wasSpent, wasHold, wasRunning, wasSlack, wasAt = 0, 0, 0, 0, 0, false
  local readable = mine and isFigures(mine)
  if readable then
    found, wasSpent = unpacked(FIGURES, mine)
    if #mine == PRESENT_BYTES then wasHold, wasRunning, wasSlack, wasAt = unpacked(PRESENT, mine, FIGURES_BYTES + 1) end
  end
  if found >= seq then return end

  -- The sum of what was spent. Taken from all fields where it is not known, or where this process's own was lost.
  local made, gone, inherited, sum = false, 0, 0, 0
  local beyond = totals and #totals - TOTALS_BYTES
  if beyond == 0 or beyond == LIMIT_BYTES or beyond == ENDED_BYTES or beyond == ENDED_BYTES + LIMIT_BYTES then
    version, made, sum = unpacked(TOTALS, totals)
    if beyond >= ENDED_BYTES then gone, inherited = unpacked(ENDED, totals, TOTALS_BYTES + 1) end
  end
  if not made or (stored > 0 and not readable) then
    made = made or now
    sum = sumOfSpent(key, totals, holds)
  end
  if incarnation < made and ended > inherited then inherited = ended end -- what an earlier hash had is lost otherwise

  -- What is held by those who were heard of in this stretch of time or in the one before.
  local stretch = max(STRETCH_MS, leaseMs)
  local current = floor(now / stretch)
  local h0, r0, s0, n0, h1, r1, s1, n1 = 0, 0, 0, 0, 0, 0, 0, 0
  if holds and #holds == HELD_BYTES then
    local of, number, a, b, c, d, e, f, g, h = unpacked(HELD, holds)
    if of > stretch then
      stretch, current = of, floor(now / of)
    elseif of < stretch then
      number = current - 1
    end
    if number == current then
      h0, r0, s0, n0, h1, r1, s1, n1 = a, b, c, d, e, f, g, h
    elseif number == current - 1 then
      h1, r1, s1, n1 = a, b, c, d
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

  local figures = pack(FIGURES, seq, spent)
  local slack = lone and granted + unit or granted
  if closing == 0 and hold + running + want + slack > 0 then
    if running == 0 and want > 0 and slack > 0 then running = 1 end
    if hold + running + slack > 0 then
      figures = figures .. pack(PRESENT, hold, running, slack, now)
      h0, r0, s0, n0 = h0 + hold, r0 + running, s0 + slack, n0 + 1
    end
  end

  local sums = pack(TOTALS, VERSION, made, sum)
  if gone ~= 0 or inherited ~= 0 then sums = sums .. pack(ENDED, gone, inherited) end
  if not open then sums = sums .. pack(LIMIT, limit) end
  local held = ''
  if n0 + n1 > 0 then held = pack(HELD, stretch, current, h0, r0, s0, n0, h1, r1, s1, n1) end
  if closing == 1 then
    local fence = process .. '@' .. now .. ','
    for name, at in string.gmatch(closed or '', '([^@,]+)@(%d+),') do
      if now - at < FENCED_MS then fence = fence .. name .. '@' .. at .. ',' end
    end
    call('HSET', key, 't', sums, 'h', held, 'x', fence)
    if mine then call('HDEL', key, process) end
  elseif held == '' or held == holds then
    call('HSET', key, 't', sums, process, figures)
    if held == '' and holds then call('HDEL', key, 'h') end
  else
    call('HSET', key, 't', sums, 'h', held, process, figures)
  end
  call('PEXPIREAT', key, format('%d', ends / 1000))
  return otherSpent, otherRunning, otherHeld, granted, more, lone and 1 or 0, found, made, gone + inherited
end

local replies, causes = {}, {}
for i = 1, #KEYS do
  local done, spent, running, held, granted, more, lone, found, made, ended =
    pcall(sync, KEYS[i], unpacked(COMMAND, commands, places[i]))
  if not done then
    spent = type(spent) == 'table' and spent.err or spent
    if not match(spent, 'WRONGTYPE') then return redis.error_reply(spent) end
  end
  if type(spent) == 'number' then
    replies[i] = pack(REPLY, time, WRITTEN, spent, running, held, granted, more, lone, found, made, ended)
  else
    replies[i] = pack(REPLY, time, spent and UNREADABLE or NOTHING, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    causes[#causes + 1] = spent
  end
end
return {table.concat(replies), unpack(causes)}
