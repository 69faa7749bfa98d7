-- Claims a single-use entry: one caller is first, in whatever process, and every later one learns how long ago that was.
-- An entry is kept as "<ms at which it was claimed, 0 before>:<value>".
--
-- KEYS[1]  the entry
-- ARGV[1]  ms for which a claimed entry stays known; 0: it is forgotten at once
--
-- Output: nothing where there is no entry, else {value, 1 if first else 0, ms since the first claim}
local kept = redis.call('GET', KEYS[1])
if not kept then return false end
local colon = string.find(kept, ':', 1, true)
local claimed = tonumber(string.sub(kept, 1, colon - 1))
local value = string.sub(kept, colon + 1)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if claimed ~= 0 then return { value, 0, math.max(0, now - claimed) } end
local keep = tonumber(ARGV[1])
if keep > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', now) .. ':' .. value, 'PX', ARGV[1])
else
  redis.call('DEL', KEYS[1])
end
return { value, 1, 0 }
