#!lua flags=allow-oom
-- uses: gate
-- Which buckets of a server have to be swept (docs/protocol.md#r9): those in which something is due,
-- and those that are not open. While all of them are open one look is enough for all replicas until
-- its time is over. What is swept twice, or by nobody for one look more, does no harm: the sweep is
-- repeatable, and due times stay. Keys: token and due of each bucket, and at last the look.
--
-- Replies {'looked', now, newest token, holds kept, then the numbers of the buckets to sweep}
--         {'enough', now, newest token, holds kept}: as the look of another replica found them
local look_key, replica = KEYS[#KEYS], ARGV[DUE.replica]
local others_ms, own_ms = tonumber(ARGV[DUE.others_ms]), tonumber(ARGV[DUE.own_ms])
local run_id = ARGV[RUN.run_id]
local now = redis_now()
local look = redis.call('GET', look_key)
if look then
  local looked_run, looked_by, till, looked_holds, looked_newest = string.match(look, '^(%S+) (%S+) (%d+) (%d+) (%S*)$')
  -- A look from the future is none: no clock may hold sweeps off for longer than a pause between
  -- them.
  if looked_run == run_id and looked_by ~= replica and now < tonumber(till) and tonumber(till) <= now + others_ms then
    return { 'enough', int(now), looked_newest, looked_holds }
  end
end
local newest, holds, are_open = '', 0, true
local buckets = {}
for bucket_at = 0, #KEYS - 2, 2 do
  local token_key, due_key = KEYS[bucket_at + KEY.token], KEYS[bucket_at + KEY.due]
  local token, state = gate_token(token_key)
  local is_open = state == 'open'
  if token and token > newest then
    newest = token
  end
  local kept = redis.call('ZCARD', due_key)
  holds = holds + kept
  are_open = are_open and is_open
  if not is_open or kept > 0 and #redis.call('ZRANGEBYSCORE', due_key, '-inf', int(now), 'LIMIT', 0, 1) > 0 then
    buckets[#buckets + 1] = string.match(token_key, '%d+')
  end
end
local till = are_open and now + own_ms or 0
redis.call('SET', look_key, run_id .. ' ' .. replica .. ' ' .. int(till) .. ' ' .. int(holds) .. ' ' .. newest)
return { 'looked', int(now), newest, int(holds), unpack(buckets) }
