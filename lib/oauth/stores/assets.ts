// Written by scripts/embed.mjs. Do not edit.

/** claim.lua */
export const claimLua = "local kept = redis.call('GET', KEYS[1])\nif not kept then return false end\nlocal colon = string.find(kept, ':', 1, true)\nlocal claimed = tonumber(string.sub(kept, 1, colon - 1))\nlocal value = string.sub(kept, colon + 1)\nlocal time = redis.call('TIME')\nlocal now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\nif claimed ~= 0 then return { value, 0, math.max(0, now - claimed) } end\nlocal keep = tonumber(ARGV[1])\nif keep > 0 then\nredis.call('SET', KEYS[1], string.format('%.0f', now) .. ':' .. value, 'PX', ARGV[1])\nelse\nredis.call('DEL', KEYS[1])\nend\nreturn { value, 1, 0 }\n"

/** count.lua */
export const countLua = "if tonumber(ARGV[1]) <= 0 and redis.call('EXISTS', KEYS[1]) == 0 then return { 0, 0 } end\nlocal total = redis.call('INCRBY', KEYS[1], ARGV[1])\nif total <= 0 then\nredis.call('DEL', KEYS[1])\nreturn { 0, 0 }\nend\nlocal left = redis.call('PTTL', KEYS[1])\nif left < 0 then\nleft = tonumber(ARGV[2])\nredis.call('PEXPIRE', KEYS[1], ARGV[2])\nend\nreturn { total, left }\n"
