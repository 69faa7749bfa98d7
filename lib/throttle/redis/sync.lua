-- Takes in one process's reports of subjects' windows, and grants time and places. A report costs the same for any
-- number of processes: their sums stand beside their fields. All fields are counted only where not all that is asked for
-- fits and a field may have expired since the last count, and for a request that only fits where nothing runs. Times and
-- amounts are whole microseconds.
--
-- KEYS[i]  one subject's record, which passes from window to window: a hash of
--            <process>  FIELD: seq; used, held, ahead; when it expires unless it is written again; running; excused;
--                       unseen; when all that runs should have ended, 0 if nothing runs: from then its held counts as
--                       used. An expired field's ahead and running count as nothing
--            s          SUMS over all of these: used, held, ahead; when the first field expires; running; excused; unseen;
--                       strain; carried, which is part of used; the highest limit of this window or of those that
--                       left strain or a debt; when the window ends
--            n          the subject's name, where a process keeps names
-- ARGV[1]  the process
-- ARGV[2]  for each key a COMMAND, the figures of a Report: see lib/throttle/budget/report.ts
-- ARGV[3]  lease: so long what is ahead stands; ARGV[4] grace: a field expires so long after all it holds should have
--          ended; ARGV[5] least: so long that is at least;
--          ARGV[6] and on: for each key the name to keep, or nothing
-- Returns  the replies, packed, each a REPLY: the server's time; CLOSED (not the open window), WRITTEN, LATE (a later
--          report is known, or the field is gone) or UNREADABLE; found: the seq that the field had; then the figures of an
--          AnswerFigures; and behind them why a key is unreadable, for each that is
local call, pack, unpacked, min, max, floor = redis.call, struct.pack, struct.unpack, math.min, math.max, math.floor
local COMMAND, COMMAND_BYTES, REPLY = '<ddddddddddddddddddd', 152, '<dddddddddddddddd'
local CARRIES, CLEARS, NEWS = 1, 2, 4 -- flags of a command
local FIELD, NEVER = '<I5i7I6I6I7I3I6i7I7', 2 ^ 55
local SUMS = '<i7I6I6I7I3I6i7I3I6I6I7' -- longer ones would take three times the memory
local FIELD_BYTES, SUMS_BYTES = 54, 64 -- of another length they are not ours
local KEPT, SMALL = 2 ^ (-1 / 8), 105 -- strain falls to half in eight windows; so little is forgotten
local MOST_WINDOWS, MOST_TIME = 32, 7 * 86400 * 1000000 -- so long a record outlives its window
local CLOSED, WRITTEN, LATE, UNREADABLE = 0, 1, 2, 3
local process, commands = ARGV[1], ARGV[2] or ''
local lease, grace, least = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local PLACES = 32 -- where nothing is used, or more where more may run at once
if #commands ~= #KEYS * COMMAND_BYTES then return redis.error_reply('ERR sync: ' .. #KEYS .. ' commands expected') end
local clock = call('TIME')
local time = clock[1] * 1000000 + clock[2]

local function whole(n)
  return string.format('%d', n)
end

local function has(flags, flag)
  return floor(flags / flag) % 2 == 1
end

-- The other processes' sums, by their fields, and when the last of their requests should have ended; what has expired is
-- written back.
local function count(key)
  local oUsed, oHeld, oAhead, oExpires, oRunning, oExcused, oUnseen, oRuns = 0, 0, 0, NEVER, 0, 0, 0, 0
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    local name, value = all[i], all[i + 1]
    if name ~= 's' and name ~= 'n' and name ~= process and #value == FIELD_BYTES then
      local seq, used, held, ahead, expires, running, excused, unseen, runs = unpacked(FIELD, value)
      local isOver = expires <= time
      if isOver or runs > 0 and runs <= time then
        used, held, runs = used + held, 0, 0
        if isOver then ahead, running, expires = 0, 0, NEVER end
        call('HSET', key, name, pack(FIELD, seq, used, held, ahead, expires, running, excused, unseen, runs))
      end
      oExpires, oRuns = min(oExpires, expires), max(oRuns, runs)
      oUsed, oHeld, oAhead, oRunning = oUsed + used, oHeld + held, oAhead + ahead, oRunning + running
      oExcused, oUnseen = oExcused + excused, oUnseen + unseen
    end
  end
  return oUsed, oHeld, oAhead, oExpires, oRunning, oExcused, oUnseen, oRuns
end

-- Overshoot in hundredths of a limit, as the next window has it.
local function overshoot(used, unseen, strain, carried, limit)
  return max(strain * KEPT, limit > 0 and 100 * (used + unseen - carried) / limit or 0)
end

-- Closes the record's window and opens the report's. Fields whose requests may still run keep their seq and running;
-- the others go. A clock that was set back opens an earlier window: then no field stays.
local function roll(key, sums, starts, ends, flags)
  local used, _, _, _, _, _, unseen, strain, carried, limit, ended = unpacked(SUMS, sums)
  local first, places, last = NEVER, 0, 0
  local all, keep, mine = call('HGETALL', key), {}, nil
  for i = 1, #all, 2 do
    local name, value = all[i], all[i + 1]
    if name == 'n' then keep[#keep + 1], keep[#keep + 2] = name, value
    elseif name ~= 's' and #value == FIELD_BYTES then
      local seq, _, held, _, _, running, _, _, runs = unpacked(FIELD, value)
      if runs <= ended then used = used + held
      elseif runs > starts and starts >= ended then
        value = pack(FIELD, seq, 0, 0, 0, runs, running, 0, 0, runs)
        keep[#keep + 1], keep[#keep + 2] = name, value
        places, first, last = places + running, min(first, runs), max(last, runs)
        if name == process then mine = value end
      end
    end
  end
  local missed = max(0, floor((starts - ended) / (ends - starts)))
  strain = max(100, floor(overshoot(used, unseen, strain, carried, limit) * KEPT ^ missed + 0.5))
  carried = has(flags, CARRIES) and limit > 0 and max(0, used + unseen - limit * (missed + 1)) or 0
  call('DEL', key)
  for i = 1, #keep, 1000 do call('HSET', key, unpack(keep, i, min(i + 999, #keep))) end -- Lua's stack is small
  return pack(SUMS, carried, 0, 0, first, places, 0, 0, strain, carried, limit, ends), mine, last
end

-- Whether nothing of a limit is left: see isSpent() in past.ts.
local function isSpent(limit, used)
  return used >= limit
end

-- Time and places that are left: see placesOf() in past.ts. @param used, held, running, unseen what all processes have
local function room(used, held, running, unseen, limit, strain, concurrency)
  local byLimit = limit > 0 and max(concurrency, PLACES) * (limit - used - max(0, unseen) * 4 / PLACES) / limit or 0
  return limit - used - held, floor(min(concurrency, byLimit) * 100 / strain) - running
end

local function sync(key, name, starts, ends, seq, flags, used, held, running, excused, unseen, strain, carried, runsFor, needed, number, firstNeeded, askedAhead, askedPlaces, limit, concurrency)
  if time < starts or time >= ends then return CLOSED end
  local got = call('HMGET', key, 's', process)
  local sums, mine, last = got[1], got[2], 0
  local before, oHeld, oAhead, oExpires, oRunning, oExcused, oUnseen, strain0, carried0, limit0, ended = 0, 0, 0, NEVER, 0, 0, 0, 0, 0, 0, 0
  local isKnown = sums and #sums == SUMS_BYTES
  if isKnown then before, oHeld, oAhead, oExpires, oRunning, oExcused, oUnseen, strain0, carried0, limit0, ended = unpacked(SUMS, sums) end
  local found, used0, held0, ahead0, running0, excused0, unseen0, _ = 0, 0, 0, 0, 0, 0, 0
  if mine and #mine == FIELD_BYTES then found, used0, held0, ahead0, _, running0, excused0, unseen0 = unpacked(FIELD, mine) end
  local isNew = ended ~= ends
  local rolls = isNew and ended ~= 0
  if rolls then found = 0 end
  if found >= seq then return LATE, found end -- an old copy of a command does nothing after a later one
  if rolls then
    sums, mine, last = roll(key, sums, starts, ends, flags)
    before, oHeld, oAhead, oExpires, oRunning, oExcused, oUnseen, strain0, carried0, limit0 = unpacked(SUMS, sums)
    used0, held0, ahead0, running0, excused0, unseen0 = 0, 0, 0, 0, 0, 0
    if mine then _, used0, held0, ahead0, _, running0, excused0, unseen0 = unpacked(FIELD, mine) end
  end

  -- The record knows best what earlier windows left, but for what a process had not told when they ended.
  if has(flags, CLEARS) then strain, carried = 100, 0
  elseif has(flags, NEWS) or not isKnown then strain, carried = max(strain, strain0), max(carried, carried0)
  else strain, carried = strain0, carried0 end
  local oUsed, oRuns = before - used0 + carried - carried0, nil
  oHeld, oAhead, oRunning = max(0, oHeld - held0), max(0, oAhead - ahead0), max(0, oRunning - running0)
  oExcused, oUnseen = max(0, oExcused - excused0), oUnseen - unseen0

  local left, slots = room(oUsed + used, oHeld + oAhead + held, oRunning + running, oUnseen + unseen, limit, strain, concurrency)
  if (needed + askedAhead > left or number > slots) and oExpires <= time then
    oUsed, oHeld, oAhead, oExpires, oRunning, oExcused, oUnseen, oRuns = count(key)
    oUsed = oUsed + carried
    left, slots = room(oUsed + used, oHeld + oAhead + held, oRunning + running, oUnseen + unseen, limit, strain, concurrency)
  end

  -- All are held, or the first alone and the rest is ahead: it expires to nothing. Or one that nothing runs beside; but
  -- time that others have ahead is left to them where it would fit without that. Where nobody is left waiting, half of
  -- what is left at most is ahead, so that the end of a budget is not stranded.
  local granted, places, ahead, spare = 0, 0, 0, 0
  if needed <= left and number <= slots or number == 0 then
    granted, places = needed, number
    if askedAhead > 0 then spare = max(0, min(askedPlaces, floor((slots - number) / 2))) end
    if spare > 0 then ahead = max(0, min(askedAhead, floor((left - needed) / 2))) end
  elseif firstNeeded <= left and slots > 0 then
    granted, places = firstNeeded, 1
    spare = min(number, slots) - 1
    if spare > 0 then ahead = min(needed, left) - firstNeeded end
  elseif running == 0 then
    if oRunning > 0 and not oRuns then
      oUsed, oHeld, oAhead, oExpires, oRunning, oExcused, oUnseen, oRuns = count(key)
      oUsed = oUsed + carried
    end
    local isTooDear = firstNeeded > limit - oUsed - used
    if not isSpent(limit, oUsed + used) and (oRunning == 0 or oRuns == 0 and (isTooDear or oAhead == 0)) then
      granted, places = firstNeeded, 1
    end
  end
  held, running = held + granted, running + places + spare

  local expires, runs = NEVER, 0
  if held > 0 or running > 0 then
    runs = time + max(runsFor + grace, least)
    expires = ahead > 0 and max(runs, time + lease) or runs
  end
  if running <= spare then runs = 0 end
  local total, extra, top = oUsed + used, oUnseen + unseen, max(limit, limit0)
  call('HSET', key, process, pack(FIELD, seq, used, held, ahead, expires, running, excused, unseen, runs), 's', pack(SUMS, total, oHeld + held, oAhead + ahead, min(oExpires, expires),
    oRunning + running, oExcused + excused, extra, strain, carried, top, ends))
  if name and name ~= '' then call('HSET', key, 'n', name) end

  -- It lives as long as something of it matters: running requests, strain, a debt. What is held may become used unseen.
  local most = total + oHeld + held
  local nextStrain, windows = overshoot(most, extra, strain, carried, top), 0
  if nextStrain > SMALL then windows = math.ceil(8 * math.log(nextStrain / SMALL) / math.log(2)) end
  if has(flags, CARRIES) and top > 0 then windows = max(windows, math.ceil((most + extra) / top) - 1) end
  if expires < NEVER then last = max(last, expires) end
  if last > ends then windows = max(windows, math.ceil((last - ends) / (ends - starts))) end
  windows = min(MOST_WINDOWS, windows)
  if isNew or windows > 0 then
    call('PEXPIREAT', key, whole((ends + min(windows * (ends - starts), MOST_TIME)) / 1000))
  end
  if isNew then before = 0 end
  return WRITTEN, found, oUsed, oHeld, oAhead, oRunning, oExcused, oUnseen, strain, granted, places, ahead, spare, carried, before
end

local replies, causes = {}, {}
for i = 1, #KEYS do
  local done, status, found, used, held, ahead, running, excused, unseen, strain, granted, places, mine, spare, carried, before =
    pcall(sync, KEYS[i], ARGV[5 + i], unpacked(COMMAND, commands, (i - 1) * COMMAND_BYTES + 1))
  if not done then
    local cause = type(status) == 'table' and status.err or tostring(status)
    if not string.match(cause, 'WRONGTYPE') then return redis.error_reply(cause) end
    status, causes[#causes + 1] = UNREADABLE, cause
  end
  replies[i] = pack(REPLY, time, status, found or 0, used or 0, held or 0, ahead or 0, running or 0, excused or 0, unseen or 0,
    strain or 0, granted or 0, places or 0, mine or 0, spare or 0, carried or 0, before or 0)
end
return {table.concat(replies), unpack(causes)}
