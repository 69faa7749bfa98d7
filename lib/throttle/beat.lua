-- Says this server's time, and writes down a heartbeat of one process.
--
-- KEYS[1]  the process's canary: gone or older than it was, the server has lost writes
-- ARGV     1 the heartbeat's number   2 how long it is kept, milliseconds
-- Output   {seconds, microseconds, the number found or nothing}
local time = redis.call('TIME')
return {time[1], time[2], redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'GET')}
