// Written by scripts/embed.mjs. Do not edit.

/** follow.lua */
export const followLua = "local known = redis.call('ZSCORE', KEYS[1], ARGV[2])\nlocal same = ARGV[1] ~= '0' and known and tonumber(known) == tonumber(ARGV[1])\nlocal from = same and '(' .. ARGV[1] or '-inf'\nlocal answer = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'WITHSCORES')\ntable.insert(answer, 1, same and 1 or 0)\nreturn answer\n"

/** revoke.lua */
export const revokeLua = "local call = redis.call\nlocal function whole(text)\nlocal n = tonumber(text)\nif not (n and n >= 0 and n < 9e15 and n == math.floor(n)) then -- 'nan', 'inf' and '0x10' are numbers to Lua\nerror('revoke: ' .. tostring(text) .. ' is not a whole number')\nend\nreturn n\nend\nlocal now = whole(ARGV[1])\nlocal overdue = call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1000)\nfor _, entry in ipairs(overdue) do\ncall('ZREM', KEYS[1], entry)\ncall('ZREM', KEYS[2], entry)\nend\nfor i = 2, #ARGV, 2 do\nlocal over = whole(ARGV[i])\nif over > now and not call('ZSCORE', KEYS[1], ARGV[i + 1]) then\ncall('SET', KEYS[3], ARGV[1] .. '000', 'NX')\ncall('ZADD', KEYS[1], call('INCR', KEYS[3]), ARGV[i + 1])\ncall('ZADD', KEYS[2], over, ARGV[i + 1])\nend\nend\nlocal last = call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')\nif last[2] then\nfor _, key in ipairs(KEYS) do call('PEXPIREAT', key, last[2]) end\nend\n"
