-- Adds to a counter that starts anew a while after its first count. A counter that is not there is not lowered,
-- and one that comes to 0 is gone.
--
-- KEYS[1]  the counter
-- ARGV[1]  how much to add, a whole number
-- ARGV[2]  ms from the first count to the fresh start
--
-- Output: {total, ms to the fresh start}
if tonumber(ARGV[1]) <= 0 and redis.call('EXISTS', KEYS[1]) == 0 then return { 0, 0 } end
local total = redis.call('INCRBY', KEYS[1], ARGV[1])
if total <= 0 then
  redis.call('DEL', KEYS[1])
  return { 0, 0 }
end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return { total, left }
