#!lua flags=allow-oom
-- uses: gate
-- Which buckets of a server have to be swept (docs/protocol.md#r9): those in which something is due, and those that are not
-- open. While all of them are open one look is enough for all replicas until its time is over. What is swept twice, or by
-- nobody for one look more, does no harm: the sweep is repeatable, and due times stay.
--
-- KEYS  tok, due of each bucket, and at last the look
-- ARGV  3 replica, 4 ms for which a look of another replica is enough, 5 ms for which this one is enough for the others
-- Replies {'looked', now, newest token, holds kept, then the numbers of the buckets to sweep}
--         {'enough', now, newest token, holds kept}: as the look of another replica found them
local now = redis_now()
local look = redis.call('GET', KEYS[#KEYS])
if look then
  local run, replica, till, holds, newest = string.match(look, '^(%S+) (%S+) (%d+) (%d+) (%S*)$')
  -- A look from the future is none: no clock may hold sweeps off for longer than a pause between them.
  if run == ARGV[1] and replica ~= ARGV[3] and now < tonumber(till) and tonumber(till) <= now + tonumber(ARGV[4]) then
    return { 'enough', int(now), newest, holds }
  end
end
local reply = { 'looked', int(now), '', '0' }
local newest, holds, are_open = '', 0, true
for at = 1, #KEYS - 1, 2 do
  local token, state = gate_token(KEYS[at])
  local is_open = state == 'open'
  if token and token > newest then
    newest = token
  end
  local kept = redis.call('ZCARD', KEYS[at + 1])
  holds = holds + kept
  are_open = are_open and is_open
  if not is_open or kept > 0 and #redis.call('ZRANGEBYSCORE', KEYS[at + 1], '-inf', int(now), 'LIMIT', 0, 1) > 0 then
    reply[#reply + 1] = string.match(KEYS[at], '%d+')
  end
end
local till = are_open and now + tonumber(ARGV[5]) or 0
redis.call('SET', KEYS[#KEYS], ARGV[1] .. ' ' .. ARGV[3] .. ' ' .. int(till) .. ' ' .. int(holds) .. ' ' .. newest)
reply[3], reply[4] = newest, int(holds)
return reply
