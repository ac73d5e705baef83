#!lua flags=allow-oom
-- uses: gate spans amounts holds
-- An operator takes a call's slot back for good: it is free now, no beat takes it again, and the next beat is told to end the
-- call. What it holds of the money stays until its record comes.
--
-- KEYS  tok, due, a:<account>, h:<account>
-- ARGV  3 account, 4 id
-- Replies taken, also when it was taken before, or ended: nothing runs under this id here
local now = redis_now()
local token = gate_token()
if not token then
  return { 'lost', int(now) }
end
local known = redis.call('HGET', KEYS[4], ARGV[4])
local hold = known and parse_hold(known)
if not hold or (hold.state ~= 'o' and hold.state ~= 'x') then
  return { 'ended', int(now), token }
end
if hold.slot ~= '2' then
  if hold.slot == '1' then
    adjust(KEYS[3], hold, shape_of(KEYS[4], hold), 0, 0, 0, 0, -1, 0)
  end
  hold.slot, hold.lease = '2', '0'
  redis.call('HSET', KEYS[4], ARGV[4], hold_text(hold))
  if hold.state == 'o' then
    redis.call('ZADD', KEYS[2], hold.due, ARGV[3] .. '|' .. ARGV[4])
  end
end
return { 'taken', int(now), token }
