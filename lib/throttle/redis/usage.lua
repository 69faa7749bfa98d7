-- Adds one process's counts to those of an hour.
--
-- KEYS[1]  a hash of counts
-- ARGV     when it expires, milliseconds since 1970; then field and count, in turn
for i = 2, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('PEXPIREAT', KEYS[1], ARGV[1])
