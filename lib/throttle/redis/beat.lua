-- Says this server's time, and writes down a heartbeat of one process. By the same commands as sync.lua, so that a user
-- who lacks a right is found at the start.
--
-- KEYS[1]  the process's canary, a hash of one field: gone or older than it was, the server has lost writes
-- ARGV     1 the heartbeat's number   2 how long it is kept, milliseconds
-- Output   {seconds, microseconds, the number found or nothing}
local call, key = redis.call, KEYS[1]
local time = call('TIME')
local found = call('HGETALL', key)[2]
call('HMGET', key, 'beat')
call('HDEL', key, '-')
call('HSET', key, 'beat', ARGV[1])
call('PEXPIREAT', key, string.format('%d', time[1] * 1000 + ARGV[2]))
return {time[1], time[2], found or false}
