-- Says what processes found requests of each route of one window to take, and takes in what this process found.
--
-- KEYS[1]  hash of the window's routes: each by a hash of its pattern, 'microseconds@seconds', when it was said by this
--          server's TIME. What cannot be read is left as it is
-- ARGV     1 how long a price is kept, seconds   2 how many routes are kept, the latest said   then for each route that
--          this process has a price of: 3 the route   4 microseconds
-- Output   for each route whose price is kept: the route, microseconds
--
-- Idempotent: the latest price said of a route counts. Every write sets the expiry.
local call, key, keptSec, most = redis.call, KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local now = tonumber(call('TIME')[1])
for i = 3, #ARGV, 2 do
  call('HSET', key, ARGV[i], ARGV[i + 1] .. '@' .. now)
end
if #ARGV > 2 then call('PEXPIREAT', key, string.format('%d', (now + keptSec) * 1000)) end

local fields, kept = call('HGETALL', key), {}
for i = 1, #fields, 2 do
  local us, at = string.match(fields[i + 1], '^(%d+)@(%d+)$')
  if us and now - at < keptSec then
    kept[#kept + 1] = {fields[i], us, tonumber(at)}
  elseif us then
    call('HDEL', key, fields[i])
  end
end
table.sort(kept, function(a, b) return a[3] > b[3] end)
local answer = {}
for i = 1, #kept do
  if i > most then
    call('HDEL', key, kept[i][1])
  else
    answer[2 * i - 1], answer[2 * i] = kept[i][1], kept[i][2]
  end
end
return answer
