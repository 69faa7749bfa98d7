-- Says this server's time, writes down a heartbeat of one process, and counts the processes whose heart beats. By the
-- same commands as sync.lua, and those of sorted sets, so that a user who lacks a right is found at the start.
--
-- KEYS[1]  the process's canary, a hash of one field: gone or older than it was, the server has lost writes
-- KEYS[2]  the living, a sorted set: processes by the time of their last heartbeat, milliseconds
-- ARGV     1 the process   2 the heartbeat's number   3 how long both are kept, milliseconds
--          4 after so many milliseconds without a heartbeat a process counts no more
-- Output   {seconds, microseconds, how many processes live, the number found or nothing}
local call, canary, living = redis.call, KEYS[1], KEYS[2]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = call('HMGET', canary, 'beat')[1]
call('HVALS', canary)
call('HDEL', canary, '-')
call('HSET', canary, 'beat', ARGV[2])
call('PEXPIREAT', canary, string.format('%d', now + ARGV[3]))
call('ZADD', living, string.format('%d', now), ARGV[1])
call('ZREMRANGEBYSCORE', living, '-inf', string.format('%d', now - ARGV[4]))
call('PEXPIREAT', living, string.format('%d', now + ARGV[3]))
return {time[1], time[2], call('ZCARD', living), found or false}
