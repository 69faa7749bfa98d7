-- Tells what was revoked since a number, or everything where that number is not of this history.
--
-- KEYS[1]  zset of revocations; the score is the number it was written under
-- ARGV     1 the number followed to, 0 for none   2 the revocation written under it
-- Output   {1, revocation, number, ...} what came after; {0, revocation, number, ...} all there is: the server has lost
--          what the follower knows, or begun anew
local known = redis.call('ZSCORE', KEYS[1], ARGV[2])
local same = ARGV[1] ~= '0' and known and tonumber(known) == tonumber(ARGV[1])
local from = same and '(' .. ARGV[1] or '-inf'
local answer = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'WITHSCORES')
table.insert(answer, 1, same and 1 or 0)
return answer
