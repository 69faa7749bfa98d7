-- Takes in one process's reports of subjects' windows, and grants time and places. A report costs the same for any
-- number of processes: their sums stand beside their fields. All fields are counted only where a wish is not met and a
-- field may have expired since the last count. Times and amounts are whole microseconds.
--
-- KEYS[i]  one subject's window: a hash of
--            <process>  FIELD: seq; used, held, ahead; when it expires unless it is written again; running; excused; added.
--                       An expired field counts its held as used, its ahead and running as nothing
--            c          what closed processes used, c:e and c:a what they had excused and added: their fields are gone
--            s          SUMS over all of these: used, held, ahead; when the first field expires; running; excused; added;
--                       the highest strain; the highest carried, which is part of used; the latest limit
--            n          the subject's name, where a process keeps names
-- ARGV[1]  the process
-- ARGV[2]  for each key a COMMAND, the figures of a Report: see lib/throttle/sync/store.ts
-- ARGV[3]  lease: so long what is ahead stands; ARGV[4] grace: a field expires so long after all it holds should have
--          ended; ARGV[5] least: so long that is at least; ARGV[6] places on a fresh budget;
--          ARGV[7] and on: for each key the name to keep, or nothing
-- Returns  the replies, packed, each a REPLY: the server's time; CLOSED (not the open window), WRITTEN, LATE (a later
--          report is known, or the field is gone) or UNREADABLE; found: the seq that the field had; then the figures of an
--          AnswerFigures; and behind them why a key is unreadable, for each that is
local call, pack, unpacked, min, max, floor = redis.call, struct.pack, struct.unpack, math.min, math.max, math.floor
local COMMAND, COMMAND_BYTES, REPLY = '<ddddddddddddddddddd', 152, '<dddddddddddddddd'
local FIELD, NEVER = '<I5i7I6I6I7I3I6i7', 2 ^ 55
local SUMS = '<i7I6I6I7I3I6i7I3I6I6' -- longer ones would take three times the memory
local NO_FIELD, NO_SUMS = pack(FIELD, 0, 0, 0, 0, 0, 0, 0, 0), pack(SUMS, 0, 0, 0, NEVER, 0, 0, 0, 0, 0, 0)
local CLOSED, WRITTEN, LATE, UNREADABLE = 0, 1, 2, 3
local process, commands = ARGV[1], ARGV[2] or ''
local lease, grace, least = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local PLACES = tonumber(ARGV[6])
if #commands ~= #KEYS * COMMAND_BYTES then return redis.error_reply('ERR sync: ' .. #KEYS .. ' commands expected') end
local clock = call('TIME')
local time = clock[1] * 1000000 + clock[2]

local function whole(n)
  return string.format('%d', n)
end

-- What the hash has, if it is as long as what stands for nothing.
local function readable(value, nothing)
  return value and #value == #nothing and value or nothing
end

-- The other processes' sums, by their fields; what has expired is written back.
local function count(key)
  local o = {used = 0, held = 0, ahead = 0, running = 0, excused = 0, added = 0, expires = NEVER}
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    local name, value = all[i], all[i + 1]
    if name == 'c' then o.used = o.used + (tonumber(value) or 0)
    elseif name == 'c:e' then o.excused = o.excused + (tonumber(value) or 0)
    elseif name == 'c:a' then o.added = o.added + (tonumber(value) or 0)
    elseif name ~= 's' and name ~= 'n' and name ~= process and #value == #NO_FIELD then
      local seq, used, held, ahead, expires, running, excused, added = unpacked(FIELD, value)
      if expires <= time then
        used, held, ahead, running = used + held, 0, 0, 0
        call('HSET', key, name, pack(FIELD, seq, used, held, ahead, NEVER, running, excused, added))
      else
        o.expires = min(o.expires, expires)
      end
      o.used, o.held, o.ahead, o.running = o.used + used, o.held + held, o.ahead + ahead, o.running + running
      o.excused, o.added = o.excused + excused, o.added + added
    end
  end
  return o
end

local function sync(key, name, starts, ends, seq, stored, closes, used, held, running, excused, added, strain, carried, lasts, want, number, unit, wish, wishPlaces, limit)
  if time < starts or time >= ends then return CLOSED end
  local got = call('HMGET', key, 's', process)
  local sums, mine = readable(got[1], NO_SUMS), readable(got[2], NO_FIELD)
  local found, used0, held0, ahead0, _, running0, excused0, added0 = unpacked(FIELD, mine)
  -- An old copy of a command does nothing: neither after a later one, nor where the field was moved or lost, even if
  -- another copy has brought it back.
  if found >= seq or found < stored then return LATE, found end

  local o, before, strain0, carried0 = {}
  before, o.held, o.ahead, o.expires, o.running, o.excused, o.added, strain0, carried0 = unpacked(SUMS, sums)
  strain, carried = max(strain, strain0), max(carried, carried0)
  o.used, o.held, o.ahead = before - used0 + carried - carried0, max(0, o.held - held0), max(0, o.ahead - ahead0)
  o.running, o.excused, o.added = max(0, o.running - running0), max(0, o.excused - excused0), o.added - added0

  local left, slots
  local function look()
    left = limit - o.used - o.held - o.ahead - used - held
    slots = floor(PLACES * 100 * (limit - o.used - used) / (limit * strain)) - o.running - running
  end
  look()
  if (want + wish > left or number > slots) and o.expires <= time then
    o = count(key)
    o.used = o.used + carried
    look()
  end

  -- All are held, or the first alone and the rest is ahead: it expires to nothing. Or one that nothing runs beside. Where
  -- nobody is left waiting, half of what is left at most is ahead, so that the end of a budget is not stranded.
  local granted, places, ahead, spare = 0, 0, 0, 0
  if want <= left and number <= slots or number == 0 then
    granted, places = want, number
    if wish > 0 then spare = max(0, min(wishPlaces, floor((slots - number) / 2))) end
    if spare > 0 then ahead = max(0, min(wish, floor((left - want) / 2))) end
  elseif unit <= left and slots > 0 then
    granted, places = unit, 1
    spare = min(number, slots) - 1
    if spare > 0 then ahead = min(want, left) - unit end
  elseif o.running + running == 0 and o.used + used <= limit then
    granted, places = unit, 1
  end
  held, running = held + granted, running + places + spare

  local expires = NEVER
  if held > 0 or running > 0 then expires = time + max(lasts + grace, least, ahead > 0 and lease or 0) end
  if closes > 0 then
    call('HINCRBY', key, 'c', whole(used))
    if excused ~= 0 then call('HINCRBY', key, 'c:e', whole(excused)) end
    if added ~= 0 then call('HINCRBY', key, 'c:a', whole(added)) end
    call('HDEL', key, process)
  else
    call('HSET', key, process, pack(FIELD, seq, used, held, ahead, expires, running, excused, added))
  end
  call('HSET', key, 's', pack(SUMS, o.used + used, o.held + held, o.ahead + ahead, min(o.expires, expires),
    o.running + running, o.excused + excused, o.added + added, strain, carried, limit))
  if name and name ~= '' then call('HSET', key, 'n', name) end
  if sums == NO_SUMS then call('PEXPIREAT', key, whole(ends / 1000)) end
  return WRITTEN, found, o.used, o.held, o.ahead, o.running, o.excused, o.added, strain, granted, places, ahead, spare, carried, before
end

local replies, causes = {}, {}
for i = 1, #KEYS do
  local done, status, found, used, held, ahead, running, excused, added, strain, granted, places, mine, spare, carried, before =
    pcall(sync, KEYS[i], ARGV[6 + i], unpacked(COMMAND, commands, (i - 1) * COMMAND_BYTES + 1))
  if not done then
    local cause = type(status) == 'table' and status.err or tostring(status)
    if not string.match(cause, 'WRONGTYPE') then return redis.error_reply(cause) end
    status, causes[#causes + 1] = UNREADABLE, cause
  end
  replies[i] = pack(REPLY, time, status, found or 0, used or 0, held or 0, ahead or 0, running or 0, excused or 0, added or 0,
    strain or 0, granted or 0, places or 0, mine or 0, spare or 0, carried or 0, before or 0)
end
return {table.concat(replies), unpack(causes)}
